#!/usr/bin/env bash
# text.sh ROOT: source files are short (500 lines, tests 800) with short lines (100 columns), hold
# no reminders of unfinished work and no path of one person's machine.
set -u
. "$(dirname "$0")/sources.sh"
root=$1
cd "$root" || exit 2
mapfile -t code < <(sources .)
mapfile -t all < <(sources .; other_texts .)
status=0
report() { if [ -n "$2" ]; then printf 'text: %s\n%s\n' "$1" "$2" >&2; status=1; fi; }

report 'files that are too long' "$(for file in "${code[@]}"; do
  limit=500; case $file in tests/*) limit=800;; esac
  awk -v limit=$limit 'END { if (NR > limit) print FILENAME ": " NR " lines, limit " limit }' "$file"
done)"
# Columns are characters, not bytes. The corpus's tables of words and phrases may be wider.
mapfile -t narrow < <(printf '%s\n' "${code[@]}" | grep -vE '^apps/corpus/(rules|words)_')
report 'lines over 100 columns' "$(LC_ALL=C.UTF-8 grep -nE '^.{101,}' "${narrow[@]}" /dev/null)"
report 'unfinished work' "$(grep -nwE 'T[O]DO|F[I]XME|X[X]X' "${all[@]}" /dev/null)"
report 'paths of one machine' \
  "$(grep -nE '(^|[^[:alnum:]_.])/(home|work|root|Users|tmp)/' "${all[@]}" /dev/null)"
exit $status
