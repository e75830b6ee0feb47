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

# Headers: one, with a page about it.
echo 'int known_name(int x);' > "$root/nn/known.h"
api() {  # found|clean NAME TEXT
  local verdict=clean
  printf '### [nn/known.h](../nn/known.h)\n%b\n' "$3" > "$root/docs/api.md"
  bash "$here/api.sh" "$root" > /dev/null 2>&1 || verdict=found
  [ $verdict = "$1" ] || { echo "selftest: $2: $verdict, expected $1" >&2; status=1; }
}
api clean "a name of the header" '* `known_name(x)`: `[other]`'
api found "a name that the header lacks" '* `known_name(x)`, `other(x)`: y'
api found "a header that is not there" '* `known_name(x)`\n### [nn/no.h](../nn/no.h)'
echo 'int other(int x);' > "$root/nn/other.h"
api found "a header without a section" '* `known_name(x)`'

# The command line: a program with one command.
cat > "$root/program" <<'END'
#!/bin/sh
if [ "$1" = run ]; then
  printf 'Runs\nUsage: tapir run [OPTIONS]\n\nmodel:\n  -h,--help      Show this help\n'
  printf '  --layers N     Blocks [4]\n  --norm rms|none\n                 Layers [rms]\n'
else
  printf 'Usage: tapir\n\nSubcommands:\n  run            Runs\n'
fi
END
cli() {  # found|clean NAME EDIT
  local verdict=clean
  sed "$3" > "$root/docs/cli.md" <<'END'
```sh
build/release/tapir run
```
<!-- flags of tapir run -->

model:

| flag | default | meaning |
|---|---|---|
| `--layers N` | 4 | Blocks |
| `--norm rms\|none` | rms | Layers |

<!-- end of flags -->
END
  bash "$here/cli.sh" "$root" "$root/program" > /dev/null 2>&1 || verdict=found
  [ $verdict = "$1" ] || { echo "selftest: $2: $verdict, expected $1" >&2; status=1; }
}
cli clean "the page of the program" ''
cli found "a flag that the page lacks" '/--layers/d'
cli found "another default" 's/ 4 / 5 /'
cli found "a flag that the program lacks" '/--norm/{p;s/norm/form/}'
cli found "a command that the page lacks" '/^<!--/d'
cli found "a command that the program lacks" '$a<!-- flags of tapir walk -->'
cli found "a command without example" 's/release.tapir run/release/'
echo 'getenv("TAPIR_SECRET")' > "$root/apps/main.cpp"
cli found "a variable that the page lacks" ''
exit $status
