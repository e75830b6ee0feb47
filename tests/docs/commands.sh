#!/usr/bin/env bash
# commands.sh ROOT PROGRAM: runs every command of README.md and docs/ that starts with
# build/release/tapir, page by page and in their order, in a temporary folder for each folder of
# pages. Training is cut to two small steps. "<!-- sh: not run: WHY -->" before a block leaves it
# out.
set -u
root=$1 program=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0 count=0

# commands PAGE: "LINE<tab>COMMAND", continued lines joined, comments dropped.
commands() {
  awk '/^```sh$/ { inside = !skip; skip = 0; next }
    /^```/ { inside = 0; next }
    /^<!-- sh: not run: / { skip = 1; next }
    NF && !inside { skip = 0 }
    !inside { next }
    { text = held $0; held = "" }
    /\\$/ { sub(/\\$/, "", text); held = text; next }
    { sub(/[ \t]+#.*$/, "", text) }
    text ~ /^build\/release\/tapir / { print FNR "\t" text }' "$1"
}

# cut COMMAND: the same command with less work.
cut_short() {
  local command=$1 flag value
  case $command in
    *" tokenizer "*) command=$(sed -E 's/--vocab-size [0-9]+/--vocab-size 300/' <<< "$command") ;;
    *" train --resume "*) command=$(sed -E 's/--steps [0-9]+/--steps 4/' <<< "$command") ;;
    *" train "*)
      for flag in "steps 2" "batch 2" "eval-batches 1" "corpus-bytes 60000" "warmup 1"; do
        value=${flag#* } flag=${flag% *}
        if [[ $command =~ --$flag[\ =] ]]; then
          command=$(sed -E "s/--$flag[ =][^ ]+/--$flag $value/" <<< "$command")
        else
          command+=" --$flag $value"
        fi
      done
      # A tokenizer of that size needs more text than the cut corpus has.
      command=$(sed -E 's/bpe:[0-9]+/bpe:300/' <<< "$command") ;;
    *" gradcheck "*) [[ $command == *--list* ]] || command+=" --max-elements 3" ;;
    *" generate "*) command=$(sed -E 's/--tokens [0-9]+/--tokens 8/' <<< "$command") ;;
    *" corpus "*) command=$(sed -E 's/--bytes [0-9]+/--bytes 60000/' <<< "$command") ;;
  esac
  echo "$command"
}

# make_folder FOLDER: the program and the texts that the pages speak of.
make_folder() {
  [ -e "$1/build" ] && return
  mkdir -p "$1/build/release" "$1/texts"
  ln -s "$program" "$1/build/release/tapir"
  for i in $(seq 400); do echo "It was a dark night, and $i small lights went out one by one."; done |
    tee "$1/book.txt" "$1/more.txt" > "$1/texts/one.txt"
}

cd "$root" || exit 2
mapfile -t pages < <(echo README.md; find docs -name "*.md" | sort)
for page in "${pages[@]}"; do
  commands "$page" > "$work/list"
  [ -s "$work/list" ] || continue
  folder=$work/in/$(dirname "$page")  # a chapter uses what the chapters before it made
  make_folder "$folder"
  while IFS=$'\t' read -r line command; do
    count=$((count + 1))
    run=$(cut_short "$command")
    if ! (cd "$folder" && bash -c "$run") > "$work/log" 2>&1 < /dev/null; then
      echo "commands: $page:$line: $run" >&2
      tail -5 "$work/log" >&2
      status=1
    fi
  done < "$work/list"
done
echo "commands: $count run"
[ $count -gt 10 ] || { echo "commands: too few were found" >&2; status=1; }
exit $status
