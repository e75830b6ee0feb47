#!/usr/bin/env bash
# layering.sh ROOT: dependencies point one way, backends <- autograd <- nn, optim <- apps.
# Fails on an include that points the other way, and on one that leaves these folders.
set -u
cd "$1" || exit 2

# folder: the folders that its files may include from
allowed='
backends: backends
autograd: backends|autograd
nn: backends|autograd|nn
optim: backends|autograd|optim
apps: backends|autograd|nn|optim|apps'

status=0
while IFS=': ' read -r folder targets; do
  [ -n "$folder" ] && [ -d "$folder" ] || continue
  if grep -rnE '^ *# *include *"' "$folder" --include='*.h' --include='*.cpp' --include='*.cu' \
      --include='*.cuh' | grep -vE "#  *include *\"($targets)/|#include *\"($targets)/"; then
    echo "layering: $folder may include only from: ${targets//|/, }" >&2
    status=1
  fi
done <<< "$allowed"
exit $status
