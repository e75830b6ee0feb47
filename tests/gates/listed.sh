#!/usr/bin/env bash
# listed.sh ROOT: every source file is named in the nearest CMakeLists.txt above it, and so is
# every test: source lists are explicit, and a forgotten test would pass for ever.
set -u
. "$(dirname "$0")/sources.sh"
cd "$1" || exit 2
status=0
while read -r file; do
  folder=$(dirname "$file")
  while [ ! -e "$folder/CMakeLists.txt" ] && [ "$folder" != . ]; do folder=$(dirname "$folder"); done
  name=${file#"$folder"/}
  case $name in *.h|*.cuh) continue;; *_test.cpp) name=${name%.cpp};; esac
  if ! grep -qE "^[^#]*(^|[( ])$name( |\)|\$)" "$folder/CMakeLists.txt"; then
    echo "listed: $file is not in $folder/CMakeLists.txt" >&2
    status=1
  fi
done < <(sources .)
exit $status
