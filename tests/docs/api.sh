#!/usr/bin/env bash
# api.sh ROOT: docs/api.md has a section for each public header, a header of one of the library
# folders themselves, and each name that an item of a section begins with, up to its colon, occurs
# in that header: in "`a(b)`, `c`: d" they are a and c.
set -u
cd "$1" || exit 2
page=docs/api.md
status=0
report() { echo "api: $1" >&2; status=1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find backends autograd nn optim -maxdepth 1 -name '*.h' | sort > "$work/headers"
sed -nE 's|^### \[(.*)\]\(\.\./(.*)\)$|\1 \2|p' "$page" | while read -r name target; do
  [ "$name" = "$target" ] || echo "$name-leads-to-$target"
  echo "$name"
done | sort > "$work/sections"
[ -s "$work/headers" ] || report "there are no headers"
while read -r header; do report "$page has no section for $header"; done \
  < <(comm -23 "$work/headers" "$work/sections")
while read -r header; do report "$page speaks of $header, which is no public header"; done \
  < <(comm -13 "$work/headers" "$work/sections")

# "HEADER<tab>LINE<tab>NAME" for each name that is to be in the header.
awk '/^### \[/ { header = $2; sub(/^\[/, "", header); sub(/\].*/, "", header); next }
  /^#/ { header = "" }
  /^\* / && header != "" {
    item = $0
    # What stands behind the first colon outside of backticks explains.
    count = split(item, part, "`")
    for (i = 1; i <= count; ++i) {
      if (i % 2) { if (part[i] ~ /:/) break; continue }
      name = part[i]
      sub(/[(<].*/, "", name)
      sub(/^.*::/, "", name)
      print header "\t" FNR "\t" name
    }
  }' "$page" > "$work/names"
[ "$(wc -l < "$work/names")" -ge "$(wc -l < "$work/headers")" ] || report "too few names were found"
while IFS=$'\t' read -r header line name; do
  [ -e "$header" ] || continue
  case $name in
    operator*) grep -qF "$name" "$header" ;;
    *) grep -qw -- "$name" "$header" ;;
  esac || report "$page:$line: $header has no $name"
done < "$work/names"
exit $status
