#!/usr/bin/env bash
# Installs what is missing, builds, and runs every check. `./test.sh --quick` stops after the
# release build and its tests.
set -u
cd "$(dirname "$0")" || exit 1
. .ci/setup.sh

quick=no
case "${1:-}" in
  --quick) quick=yes ;;
  "") ;;
  *) echo "usage: ./test.sh [--quick]" >&2; exit 2 ;;
esac

failures=()
times=()
passed=0 failed=0 skipped=0

# stage NAME COMMAND...: runs it, notes its time, and remembers a failure.
stage() {
  local name=$1 start=$SECONDS
  shift
  echo "== $name"
  local status=0
  "$@" || { status=$?; failures+=("$name"); }
  times+=("$(printf '%5d s  %s' $((SECONDS - start)) "$name")")
  return $status
}

# run_tests PRESET: the tests of a build, two at a time, and their number for the last line.
run_tests() {
  local log=build/$1-tests.log status
  ctest --preset "$1" -j "$jobs" < /dev/null 2>&1 | tee "$log" | grep -vE '^ *Start +[0-9]+:'
  status=${PIPESTATUS[0]}
  local skips fails all
  skips=$(grep -cE '\*\*\*Skipped' "$log")
  read -r fails all < <(sed -nE 's/.* ([0-9]+) tests failed out of ([0-9]+).*/\1 \2/p' "$log")
  if [ "${all:-0}" -eq 0 ]; then
    echo "test.sh: $1 ran no test" >&2
    return 1
  fi
  passed=$((passed + all - fails - skips)) failed=$((failed + fails)) skipped=$((skipped + skips))
  return "$status"
}

checked() { rm -rf build/checked/profiles; run_tests checked; }

stage "packages" setup_packages "${build_packages[@]}" || exit 1
# Some checks need these; without them they are skipped and say so.
setup_packages clang-format-14 qemu-user || echo "test.sh: going on without clang-format or qemu"
setup_packages chromium || echo "test.sh: going on without a browser for the pages"
stage "release: build" build release && stage "release: tests" run_tests release
# The release build compiled the CUDA backend as users do, for every architecture, because ptxas may
# spill on one and not on another. One will do for the rest.
build_options+=(-DCMAKE_CUDA_ARCHITECTURES=80)
if [ $quick = no ]; then
  # One build for both: sanitizers and coverage want the same tests, at the same -O0. With clang,
  # which compiles them in half of g++'s time and whose counts of lines cost less.
  if stage "packages for sanitizers" setup_clang &&
    stage "sanitizers (address, undefined) and coverage: build" build checked; then
    stage "sanitizers (address, undefined): tests" checked
    stage "coverage" tests/coverage.sh "$PWD" build/checked
  fi
  stage "thread sanitizer: build" build tsan thread_tests &&
    stage "thread sanitizer: tests of what runs in parallel" run_tests tsan
  # A second opinion on races within kernels, for launches small enough for it.
  stage "gcc's thread sanitizer: build" build gcc-tsan cudasim_test cudasim_races_test &&
    stage "gcc's thread sanitizer: simulated kernels" run_tests gcc-tsan
fi

echo
[ $quick = no ] || echo "test.sh: --quick: sanitizers and coverage skipped"
printf '%s\n' "${times[@]}" "$(printf '%5d s  in all' $SECONDS)"
if [ ${#failures[@]} -gt 0 ]; then
  printf 'test.sh: failed: %s\n' "${failures[@]}"
  [ $failed -gt 0 ] || failed=${#failures[@]}
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ ${#failures[@]} -eq 0 ]
