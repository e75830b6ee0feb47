#!/usr/bin/env bash
# compare.sh BUILD_FOLDER [ARGUMENT...]: builds Tapir's side, runs compare.py with the arguments and
# writes the table into docs/benchmarks.md. PYTHON is an interpreter that has PyTorch.
set -eu
build=$1
shift
source=$(cd "$(dirname "$0")/../.." && pwd)
cmake --build "$build" --target train_bench
table=$(TAPIR_BENCH="$build/tests/train_bench" "${PYTHON:-python3}" "$source/tests/bench/compare.py" "$@")
{
  sed '/^<!-- measured -->$/q' "$source/docs/benchmarks.md"
  printf '\n%s\n' "$table"
} > "$source/docs/benchmarks.md.new"
mv "$source/docs/benchmarks.md.new" "$source/docs/benchmarks.md"
printf '%s\n' "$table"
