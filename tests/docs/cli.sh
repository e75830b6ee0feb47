#!/usr/bin/env bash
# cli.sh ROOT PROGRAM [--update]: docs/cli.md has exactly the commands, flags and defaults that the
# program's help shows, an example of each command, and every environment variable that the sources
# read. The tables between "<!-- flags of tapir X -->" and "<!-- end of flags -->" are made from the
# help, and that of presets likewise; --update writes them.
set -u
root=$1 program=$(realpath "$2") update=${3:-}
page=$root/docs/cli.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
report() { echo "cli: $1" >&2; status=1; }

# subcommands COMMAND...: their names, from the help.
subcommands() {
  "$program" "$@" --help | awk '/^Subcommands:/ { inside = 1; next } /^[^ ]|^$/ { inside = 0 }
    inside && /^  [a-z]/ { print $1 }'
}

# table COMMAND...: the help as tables, one for each heading. A long flag has its text on the line
# below. Defaults stand behind a "=" or in brackets at the end; of a switch the name that switches
# it off is left out.
table() {
  "$program" "$@" --help | awk '
    function flush(   value) {
      if (flag != "" && flag !~ /^-h,/) {
        value = sub(/,--no-[^ ]*{false}/, "", flag) ? "off" : ""
        if (match(text, / \[[^][]*\]$/)) {
          value = substr(text, RSTART + 2, RLENGTH - 3)
          text = substr(text, 1, RSTART - 1)
        }
        if (match(flag, /=[^ ]*/)) {
          value = substr(flag, RSTART + 1, RLENGTH - 1)
          flag = substr(flag, 1, RSTART - 1) substr(flag, RSTART + RLENGTH)
        }
        if (sub(/ REQUIRED/, "", flag)) value = "required"
        if (heading != "") {
          printf "\n%s:\n\n| flag | default | meaning |\n|---|---|---|\n", heading
          heading = ""
        }
        gsub(/\|/, "\\|", flag)
        gsub(/[|<]/, "\\\\&", text)
        printf "| `%s` | %s | %s |\n", flag, value, text
      }
      flag = text = ""
    }
    /^[A-Za-z][^:]*:$/ { flush(); heading = $0; sub(/:$/, "", heading); positional = /^Positionals/; next }
    /^[^ ]/ { flush(); heading = ""; positional = 0; next }
    /^  -/ || (positional && /^  [a-z]/) {
      flush()
      flag = substr($0, 3)
      if (match(flag, /   *[^ ]/)) {
        text = substr(flag, RSTART + RLENGTH - 1)
        flag = substr(flag, 1, RSTART - 1)
      }
      next
    }
    /^   +[^ ]/ && flag != "" { sub(/^ +/, ""); text = text (text == "" ? "" : " ") $0; next }
    { flush() }
    END { flush(); print "" }'
}

mapfile -t commands < <(for command in $(subcommands); do
  inner=$(subcommands "$command")
  [ -z "$inner" ] && echo "$command"
  for sub in $inner; do echo "$command $sub"; done
done)
[ ${#commands[@]} -gt 0 ] || { report "the program shows no commands"; exit 1; }

printf '%s\n' "${commands[@]}" | sort > "$work/commands"
sed -nE 's/^<!-- flags of tapir (.*) -->$/\1/p' "$page" | sort > "$work/shown"
while read -r command; do report "docs/cli.md has no tapir $command"; done \
  < <(comm -23 "$work/commands" "$work/shown")
while read -r command; do report "there is no command tapir $command"; done \
  < <(comm -13 "$work/commands" "$work/shown")

mkdir "$work/tables"
for command in "${commands[@]}"; do
  # shellcheck disable=SC2086
  table $command > "$work/tables/$command"
  grep -qE "^build/release/tapir $command( |\$)" "$page" ||
    report "docs/cli.md has no example of tapir $command"
done
"$program" train --help | awk 'BEGIN { print "\n| preset | what it is |\n|---|---|" }
  /^Presets:/ { inside = 1; next } !/^  / { inside = 0 }
  inside { name = $1; sub(/^ *[^ ]+ +/, ""); printf "| `%s` | %s |\n", name, $0 }
  END { print "" }' > "$work/presets"
awk -v tables="$work/tables/" -v presets="$work/presets" '
  /^<!-- end of (flags|presets) -->$/ { inside = 0 }
  !inside { print }
  /^<!-- presets -->$/ {
    inside = 1
    while ((getline line < presets) > 0) print line
  }
  /^<!-- flags of tapir .* -->$/ {
    inside = 1
    command = $0
    sub(/^<!-- flags of tapir /, "", command); sub(/ -->$/, "", command)
    while ((getline line < (tables command)) > 0) print line
    close(tables command)
  }' "$page" > "$work/page"
if ! diff -u --label docs/cli.md --label "the program's help" "$page" "$work/page" > "$work/diff"; then
  if [ "$update" = --update ]; then
    cp "$work/page" "$page"
  else
    report "docs/cli.md is not what the help says; \`tests/docs/cli.sh ROOT PROGRAM --update\` writes it:"
    cat "$work/diff" >&2
  fi
fi

while read -r variable; do
  grep -q "\`$variable\`" "$page" || report "docs/cli.md does not tell of the variable $variable"
done < <(grep -rhoE '(getenv|environment)\("[A-Z_]+"' "$root/apps" "$root/backends" |
  sed -E 's/.*"(.*)"/\1/' | sort -u)
exit $status
