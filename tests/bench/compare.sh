#!/usr/bin/env bash
# compare.sh BUILD_FOLDER [ARGUMENT...]: builds Tapir's side, runs compare.py with the arguments and
# generation.py, and writes the tables into docs/benchmarks.md. PYTHON is an interpreter that has
# PyTorch; without xllamacpp and gguf generation is left out.
set -eu
build=$1
shift
source=$(cd "$(dirname "$0")/../.." && pwd)
python=${PYTHON:-python3}
cmake --build "$build" --target train_bench tapir_program
tables=$(TAPIR_BENCH="$build/tests/train_bench" "$python" "$source/tests/bench/compare.py" "$@")
if "$python" -c 'import xllamacpp, gguf'; then
  tables+=$'\n\n'$("$python" "$source/tests/bench/generation.py" "$build/tapir")
fi
{
  sed '/^<!-- measured -->$/q' "$source/docs/benchmarks.md"
  printf '\n%s\n' "$tables"
} > "$source/docs/benchmarks.md.new"
mv "$source/docs/benchmarks.md.new" "$source/docs/benchmarks.md"
printf '%s\n' "$tables"
