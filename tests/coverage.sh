#!/usr/bin/env bash
# coverage.sh SOURCE BUILD: line coverage per folder after the tests of a build with
# TAPIR_COVERAGE, whose counts are in BUILD/profiles (LLVM_PROFILE_FILE of the test presets). Fails
# when a folder that has a limit is below it. A line counts as executed if any of the object files
# that hold it (templates, inline functions) executed it.
set -eu -o pipefail
source_dir=$1
cd "$2"
# A process that was killed while it wrote its counts leaves a broken file, which is left out.
llvm-profdata merge -sparse -failure-mode=all profiles -o coverage.profdata 2> profdata.log
# From the library that holds all code, so that what no test links counts too. The CUDA backend is
# there where NVIDIA's headers are, in the library that runs it on the simulated device.
libraries=(tests/liball_code.so)
if [ -e tests/libtapir_cudasim.so ]; then libraries+=(-object tests/libtapir_cudasim.so); fi
# Files whose lines are not counted would look as if nothing executed them.
uncounted=$(sed -n 's|^!src:\*||p' "$source_dir/tests/coverage_sources.txt" | paste -sd '|')
llvm-cov export -format=lcov -instr-profile=coverage.profdata \
  -ignore-filename-regex="($uncounted)\$" "${libraries[@]}" > coverage.lcov 2> coverage.log
awk -v root="$source_dir/" '
  BEGIN {
    limit["backends/cpu"] = limit["autograd"] = limit["nn"] = limit["optim"] = 90
    limit["backends/cuda"] = 95
  }
  /^SF:/ { file = substr($0, 4); ours = index(file, root) == 1; file = substr(file, length(root) + 1) }
  /^DA:/ && ours {
    split(substr($0, 4), field, ",")
    key = file ":" field[1]
    if (!(key in lines)) { lines[key]; total[file]++ }
    if (field[2] > 0 && !(key in hits)) { hits[key]; covered[file]++ }
  }
  END {
    for (file in total) {
      folder = file
      if (!sub(/^backends\/cpu\/.*/, "backends/cpu", folder) &&
          !sub(/^backends\/cuda\/.*/, "backends/cuda", folder)) sub(/\/.*/, "", folder)
      all[folder] += total[file]
      done[folder] += covered[file]
    }
    count = split("backends backends/cpu backends/cuda autograd nn optim apps", order, " ")
    for (i = 1; i <= count; i++) {
      folder = order[i]
      if (folder == "backends/cuda" && !all[folder]) continue  # not built without the headers
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
  }' coverage.lcov
