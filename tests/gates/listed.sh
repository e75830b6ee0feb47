#!/usr/bin/env bash
# listed.sh ROOT: every source file is named in its folder's CMakeLists.txt, and so is every test:
# source lists are explicit, and a forgotten test would pass for ever.
set -u
. "$(dirname "$0")/sources.sh"
cd "$1" || exit 2
status=0
while read -r file; do
  folder=${file%%/*}
  name=${file#*/}
  case $name in *.h|*.cuh) continue;; *_test.cpp) name=${name%.cpp};; esac
  if ! grep -qE "^[^#]*(^|[( ])$name( |\)|\$)" "$folder/CMakeLists.txt"; then
    echo "listed: $file is not in $folder/CMakeLists.txt" >&2
    status=1
  fi
done < <(sources . | grep -v '^tests/consumer/')
exit $status
