#!/usr/bin/env bash
# run.sh SECONDS [TARGET...]: fuzzes every target, or those named, for so long, one after the other.
# Needs clang. Starts from the kept inputs; new ones stay in the build folder. An input that breaks
# a target is left there too, and makes the script fail.
set -u
cd "$(dirname "$0")/../.." || exit 2
[ $# -ge 1 ] || { echo "usage: $0 SECONDS [TARGET...]" >&2; exit 2; }
seconds=$1
shift
build=build/fuzz
cmake -S . -B $build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_COMPILER=clang++ \
  -DCMAKE_CXX_FLAGS_RELEASE="-O1 -g1" -DTAPIR_FUZZ=ON -DTAPIR_SANITIZE=address,undefined \
  -DTAPIR_ISA_LIST=avx2 -DTAPIR_UNITY=ON > $build.log 2>&1 || { cat $build.log >&2; exit 1; }
targets=("$@")
if [ ${#targets[@]} -eq 0 ]; then
  for folder in tests/fuzz/corpus/*/; do targets+=("$(basename "$folder")"); done
fi
ninja -C $build "${targets[@]/#/fuzz_}" || exit 1
status=0
for target in "${targets[@]}"; do
  found=$build/found/$target
  mkdir -p "$found"
  echo "== $target"
  $build/tests/fuzz/fuzz_$target -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
    -max_len=16384 -artifact_prefix="$found-" -print_final_stats=1 -verbosity=0 \
    "$found" "tests/fuzz/corpus/$target" || status=1
done
exit $status
