#!/usr/bin/env bash
# Plants faults in a page of a small project and expects each to be found.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
status=0
mkdir -p "$root"/{apps,autograd,backends,nn,optim,tests,docs}
echo 'int known_name(int x) { return x + 1; }' > "$root/nn/known.cpp"
touch "$root/CMakeLists.txt" "$root/README.md"

# expect found|clean NAME TEXT: what pages.sh says of a page with that text.
expect() {
  local wanted=$1 name=$2 verdict=clean
  printf '%b\n' "$3" > "$root/docs/page.md"
  bash "$here/pages.sh" "$root" > /dev/null 2>&1 || verdict=found
  [ $verdict = "$wanted" ] || { echo "selftest: $name: $verdict, expected $wanted" >&2; status=1; }
}
expect clean "names, paths and links that exist" \
  '`known_name(1)` in `nn/known.cpp`, `nn/*.cpp`, `known.{cpp,cpp}`, [here](../nn/known.cpp#x)'
expect found "a link to nothing" '[here](../nn/unknown.cpp)'
expect found "a path to nothing" '`nn/unknown.cpp`'
expect found "a file name that occurs nowhere" '`unknown.cpp`'
expect found "one of two files" '`nn/known.{cpp,h}`'
expect found "a function that is not there" '`unknown_name(1)`'
expect found "a member that is not there" '`tapir::Unknown`'
expect clean "the standard library" '`std::vector<int>`'
quote='<!-- cpp: quoted from nn/known.cpp -->\n```cpp\n'
expect clean "a quotation" "$quote"'int known_name(int x) {\n  return x + 1; }\n```'
expect found "a wrong quotation" "$quote"'int known_name(int x) { return x + 2; }\n```'
expect found "a quotation from nowhere" '<!-- cpp: quoted from nn/no.cpp -->\n```cpp\nint x;\n```'

# Commands: a program that fails for one argument.
printf '#!/bin/sh\n[ "$1" != bad ]\n' > "$root/program"
chmod +x "$root/program"
commands() {
  { echo '```sh'; for _ in $(seq 11); do echo 'build/release/tapir good  # fine'; done
    echo "$1"; echo '```'; } > "$root/docs/page.md"
  bash "$here/commands.sh" "$root" "$root/program" > /dev/null 2>&1
}
commands 'build/release/tapir good' || { echo "selftest: a good command fails" >&2; status=1; }
commands 'build/release/tapir bad' && { echo "selftest: a bad command passes" >&2; status=1; }
exit $status
