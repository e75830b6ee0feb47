#!/usr/bin/env bash
# pages.sh ROOT: everything that README.md and docs/ name exists: linked files, paths and code names
# in backticks, and the passages that they quote from the sources.
#
# In backticks, a word with a slash whose first folder is one of the project's, or with the ending
# of a source file, is a path ("*" and "{a,b}" as in a shell; "<...>" stands for something that
# varies). In a word with "(" or "::", and in one with an underscore or inner capitals, every name
# of more than one letter occurs in the sources; names of the standard library are left alone.
set -u
cd "$1" || exit 2
status=0
report() { echo "pages: $1" >&2; status=1; }

mapfile -t pages < <(echo README.md; find docs -name "*.md" | sort)
folders='apps|autograd|backends|docs|nn|optim|tests'
code_folders=(apps autograd backends nn optim tests)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find . -path ./build -prune -o -path ./.git -prune -o -path ./runs -prune -o -type f -print |
  sed 's|^\./||' > "$work/files"
find "${code_folders[@]}" -type f \
  \( -name '*.h' -o -name '*.cpp' -o -name '*.cu' -o -name '*.sh' -o -name '*.py' \
     -o -name 'CMakeLists.txt' \) ! -path 'tests/docs/*' |
  xargs grep -ohE '[A-Za-z_][A-Za-z0-9_]*' CMakeLists.txt | sort -u > "$work/names"
# What the text of the pages itself defines in its examples.
awk 'FNR == 1 { inside = 0 } /^```cpp/ { inside = 1; next } /^```/ { inside = 0 } inside' \
  "${pages[@]}" | grep -oE '[A-Za-z_][A-Za-z0-9_]*' | sort -u > "$work/examples"
sort -um "$work/names" "$work/examples" > "$work/known"

# spans PAGE: "LINE<tab>TEXT" for what stands in backticks outside of fenced blocks.
spans() {
  awk '/^ *```/ { inside = !inside; next }
    !inside { n = split($0, part, "`")
      for (i = 2; i <= n; i += 2) if (i < n) print FNR "\t" part[i] }' "$1"
}

path_exists() {  # WORD: a path from the root or the end of one
  local word=${1#./}; word=${word%/}; local before after choices choice
  if [[ $word == *'{'*'}'* ]]; then
    before=${word%%\{*} after=${word#*\}} choices=${word#*\{}
    IFS=, read -ra choices <<< "${choices%%\}*}"
    for choice in "${choices[@]}"; do path_exists "$before$choice$after" || return 1; done
    return 0
  fi
  word=$(sed -E 's/[.+]/\\&/g; s/<[^>]*>|\*/[^\/]*/g' <<< "$word")
  grep -qE "(^|/)$word(/|\$)" "$work/files"
}

for page in "${pages[@]}"; do
  folder=$(dirname "$page")
  while read -r link; do
    target=${link%%#*}
    [[ -z $target || $target == *://* ]] && continue
    [ -e "$folder/$target" ] || report "$page: link to $link, which does not exist"
  done < <(awk '/^ *```/ { inside = !inside; next } !inside' "$page" |
    grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//')
  spans "$page" > "$work/spans"
  while IFS=$'\t' read -r line text; do
    for word in $text; do
      if [[ $word =~ ^($folders)/[^\"\'\;]*$ || $word =~ ^[A-Za-z0-9_/*\<\>{},.-]+\.(h|cpp|cu|sh|md|py|\{h,cpp\})$ ]]; then
        path_exists "${word%,}" || report "$page:$line: path $word does not exist"
      fi
    done
  done < "$work/spans"
  # Names: "A::b(c)" gives A, b and c.
  while IFS=$'\t' read -r line text; do
    sed -E 's/"[^"]*"//g; s/std::[A-Za-z0-9_:]+//g; s/[A-Za-z0-9_]*<[a-z]+>[A-Za-z0-9_]*//g; s/--[a-z-]+//g' <<< "$text" | tr ' ' '\n' |
      grep -E '\(|::|[a-z0-9]_[a-z0-9]|[a-z][A-Z]' | grep -vE '[/.][a-z]' |
      grep -oE '[A-Za-z_][A-Za-z0-9_]+' | sed "s/^/$line\t/"
  done < "$work/spans" | sort -u -k2,2 > "$work/used"
  while IFS=$'\t' read -r line name; do
    report "$page:$line: $name occurs nowhere in the sources"
  done < <(sort -k2,2 "$work/used" | join -t $'\t' -1 2 -2 1 -v 1 -o 1.1,1.2 - "$work/known")
done

# Quotations, compared without regard to white space; a line "// ..." leaves something out.
squeeze() { tr -d ' \n\t'; }
for page in "${pages[@]}"; do
  rm -f "$work"/quote.*
  awk -v prefix="$work/quote." '
    /^<!-- cpp: quoted from / { source = $5; next }
    /^```cpp$/ && source != "" { inside = 1; file = prefix (++count); print source > file; next }
    /^```/ { inside = 0; source = "" }
    inside && /^ *\/\/ \.\.\.$/ { file = prefix (++count); print source > file; next }
    inside { print > file }' "$page"
  for quote in "$work"/quote.*; do
    [ -e "$quote" ] || continue
    source=$(head -1 "$quote")
    if [ ! -e "$source" ]; then
      report "$page: quotes $source, which does not exist"
    elif [[ $(squeeze < "$source") != *"$(tail -n +2 "$quote" | squeeze)"* ]]; then
      report "$page: what it quotes from $source is not there: $(sed -n 2p "$quote")"
    fi
  done
done
exit $status
