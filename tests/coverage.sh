#!/usr/bin/env bash
# coverage.sh SOURCE BUILD: line coverage per folder, from what gcov says after the tests of a
# build with TAPIR_COVERAGE. Fails when a folder that has a limit is below it. A line counts as
# executed if any of the object files that hold it (templates, inline functions) executed it.
set -eu -o pipefail
source_dir=$1
cd "$2"
# Without the file of counts gcov reports zeros, so code that no test links still counts.
find . -name '*.gcno' -not -path './tests/*' -print0 |
  xargs -0 -n 8 -P "$(nproc)" gcov --stdout --relative-only --source-prefix "$source_dir" \
  2> gcov.log > gcov.txt
awk '
  BEGIN {
    FS = ":"
    limit["backends/cpu"] = limit["autograd"] = limit["nn"] = limit["optim"] = 90
  }
  $3 == "Source" && $2 + 0 == 0 { file = $4; next }
  $2 + 0 > 0 {
    count = $1
    gsub(/[ *]/, "", count)
    if (count == "-") next
    key = file ":" $2 + 0
    hit = count !~ /^[#=]/
    if (!(key in lines)) { lines[key]; total[file]++ }
    if (hit && !(key in hits)) { hits[key]; covered[file]++ }
  }
  END {
    for (file in total) {
      folder = file
      if (folder !~ /^backends\/cpu\//) sub(/\/.*/, "", folder); else folder = "backends/cpu"
      all[folder] += total[file]
      done[folder] += covered[file]
    }
    count = split("backends backends/cpu autograd nn optim apps", order, " ")
    for (i = 1; i <= count; i++) {
      folder = order[i]
      percent = all[folder] ? 100 * done[folder] / all[folder] : 0
      note = ""
      if (folder in limit) {
        note = "limit " limit[folder] " %"
        if (percent < limit[folder]) { note = note ": too low"; failed = 1 }
      }
      printf "coverage: %-13s %5.1f %% of %5d lines  %s\n", folder, percent, all[folder], note
    }
    for (file in total) {
      percent = 100 * covered[file] / total[file]
      if (percent < 85) printf "coverage: least covered: %5.1f %% %s\n", percent, file | "sort -k4 -n"
    }
    close("sort -k4 -n")
    exit failed
  }' gcov.txt
