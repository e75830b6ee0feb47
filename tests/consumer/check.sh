#!/usr/bin/env bash
# check.sh BUILD COMPILER: installs BUILD into a folder of its own, builds the program in this
# folder against it as a user would, and runs it and the installed tapir.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
prefix=$1/install-tree
rm -rf "$prefix" "$1/consumer"
cmake --install "$1" --prefix "$prefix" > /dev/null
# Ninja is what this project needs anyway; make may be missing.
cmake -G Ninja -S "$here" -B "$1/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$2" \
  -DCMAKE_BUILD_TYPE=Release
cmake --build "$1/consumer"
"$1/consumer/consumer"
"$prefix/bin/tapir" --help > /dev/null
