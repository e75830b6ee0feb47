#!/usr/bin/env bash
# run.sh [BUILD_FOLDER]: everything that needs a real GPU, in less than eight minutes, from a machine
# with nvcc and the packages of .ci/setup.sh. Builds (unless BUILD_FOLDER names a release build, made
# there or elsewhere), compares the CUDA backend with the CPU's, checks the wrappers of PTX one by
# one, measures training beside PyTorch where there is one (PYTHON names the interpreter), and runs
# memory checkers where they work. What is missing it names, and goes on without. Each step has a
# time limit; a failure does not keep the others from running. Logs, and in results.md what
# docs/gpu-results.md should say, are left in build/gpu. The exit status is 0 if all that ran
# passed, 1 if something failed, and 77 without a card.
set -u
cd "$(dirname "$0")/../.." || exit 1
. .ci/setup.sh
readonly most_seconds=470
logs=build/gpu
results=$logs/results.md
rm -rf "$logs"
mkdir -p "$logs"
steps=() failures=() missing=()

section() { printf '\n== %s\n' "$*"; }
lack() { missing+=("$*"); printf 'missing: %s\n' "$*"; }

# step NAME SECONDS COMMAND...: at most so long, and no longer than is left of all; its output in a
# log, its result in one line.
step() {
  local name=$1 limit=$2 start=$SECONDS code result
  shift 2
  [ $((most_seconds - SECONDS)) -ge "$limit" ] || limit=$((most_seconds - SECONDS))
  if [ "$limit" -lt 5 ]; then
    lack "the time for $name"
    return 1
  fi
  timeout -k 5 "$limit" "$@" > "$logs/$name.log" 2>&1
  code=$?
  case $code in
    0) result=passed ;;
    124 | 137) result="FAILED: not done after $limit s" ;;
    *) result="FAILED with status $code" ;;
  esac
  steps+=("| $name | $result | $((SECONDS - start)) |")
  printf '%-28s %s in %d s\n' "$name" "$result" $((SECONDS - start))
  [ $code -eq 0 ] && return 0
  failures+=("$name")
  tail -n 20 "$logs/$name.log"
  return 1
}

card="" driver="" capability=""
find_card() {
  command -v nvidia-smi > /dev/null || { lack "nvidia-smi, so there is no NVIDIA driver"; return 1; }
  local memory
  IFS=, read -r card driver memory capability < <(nvidia-smi -i 0 --format=csv,noheader \
    --query-gpu=name,driver_version,memory.total,compute_cap 2> "$logs/nvidia-smi.log")
  [ -n "$capability" ] || { lack "a GPU: nvidia-smi shows none"; card=""; return 1; }
  driver=${driver# } capability=${capability# }
  printf '%s,%s, compute capability %s, driver %s\n' "$card" "$memory" "$capability" "$driver"
}

# tool NAME: where it is, of the toolkit.
tool() { command -v "$1" || ls "/usr/local/cuda/bin/$1" 2> /dev/null; }

toolkit="" checker="" python=""
find_tools() {
  local nvcc
  nvcc=$(tool nvcc) || lack nvcc
  [ -z "$nvcc" ] || toolkit=$("$nvcc" --version | sed -nE 's/.*release ([0-9.]+),.*/\1/p')
  checker=$(tool compute-sanitizer) || lack compute-sanitizer
  python=${PYTHON:-python3}
  if ! "$python" -c 'import torch; assert torch.cuda.is_available()' > "$logs/torch.log" 2>&1; then
    lack "PyTorch with CUDA for $python, so there is nothing to set the speed beside"
    python=""
  fi
}

# Only for this card's architecture, which takes a third of the time.
make_build() {
  [ -n "$toolkit" ] || return 1
  setup_packages "${build_packages[@]}" || lack "packages of .ci/setup.sh"
  command -v cmake > /dev/null || { lack "cmake"; return 1; }
  # shellcheck disable=SC2016  # expanded by the inner shell
  step build 240 bash -c '. .ci/setup.sh; build_options+=("$1" "$2"); shift 2; build release "$@"' \
    build "-DCMAKE_CUDA_ARCHITECTURES=${capability/./}" -DTAPIR_CUDA=ON tapir_program tapir_cuda \
    wrappers_test compressed_kernels_test cuda_parity_test cuda_training_test train_bench
}

# What the card can do, in TFLOP/s, by NVIDIA's data sheets: dense bf16 or f32.
peak() {
  case "$card" in
    *H200* | *H100*HBM3*) [ "$1" = bf16 ] && echo 989 || echo 67 ;;
    *A100*) [ "$1" = bf16 ] && echo 312 || echo 19.5 ;;
    *"RTX 4090"*) [ "$1" = bf16 ] && echo 165.2 || echo 82.6 ;;
  esac
}

check_wrappers() {
  local program=$folder/tests/gpu/wrappers_test name
  [ -x "$program" ] || { lack "$program"; return; }
  # In processes of their own: an illegal instruction ends the use of the device in its process.
  for name in $("$program" --gtest_list_tests | sed -n 's/^  *//p'); do
    step "wrapper-$name" 20 "$program" "--gtest_filter=Wrapper.$name"
  done
}

check_parity() {
  local program
  for program in compressed_kernels_test cuda_parity_test cuda_training_test; do
    [ -x "$folder/tests/$program" ] || { lack "$folder/tests/$program"; continue; }
    step "$program" 60 "$folder/tests/$program"
  done
}

# Both models in both precisions beside PyTorch. Without its compiler at least beside the other.
measure() {
  local precision peak arguments
  if [ -z "$python" ]; then
    step train 60 "$folder/tapir" train --out "$logs/run" --device cuda --precision bf16 \
      --layers 4 --heads 8 --d-model 512 --context 256 --batch 32 --steps 50 --corpus-bytes 4000000
    return
  fi
  [ -x "$folder/tests/train_bench" ] || { lack "$folder/tests/train_bench"; return; }
  export TAPIR_BENCH=$folder/tests/train_bench
  for precision in bf16 f32; do
    arguments=(tests/bench/compare.py --device cuda --precision "$precision"
      --models "17M,124M" --rounds 3)
    peak=$(peak "$precision")
    [ -z "$peak" ] || arguments+=(--peak "$peak")
    step "bench-$precision" 100 "$python" "${arguments[@]}" ||
      step "bench-$precision-eager" 50 "$python" "${arguments[@]}" --modes eager
  done
}

# A checker that cannot look into this machine's driver says so of the simplest kernel too.
check_memory() {
  local tool program=$folder/tests/cuda_parity_test
  [ -n "$checker" ] || return
  if ! timeout 30 "$checker" --error-exitcode 9 "$folder/tests/gpu/wrappers_test" \
    --gtest_filter=Wrapper.Shuffles > "$logs/checker.log" 2>&1; then
    lack "a compute-sanitizer that works here: $(tail -n 1 "$logs/checker.log")"
    return
  fi
  for tool in memcheck racecheck synccheck; do
    TAPIR_CUDA_NO_RECYCLING=1 step "$tool" 45 "$checker" --tool "$tool" --error-exitcode 9 "$program" \
      --gtest_filter='CudaTest.*Attention*:CudaTest.*Reduces*:CudaTest.*Optimizers*'
  done
}

write_results() {
  printf '%s, compute capability %s, driver %s, CUDA %s.\n\n' \
    "$card" "$capability" "$driver" "${toolkit:-unknown}"
  printf '| step | result | seconds |\n|---|---|---|\n'
  printf '%s\n' "${steps[@]}"
  if [ -e "$logs/selftest.log" ]; then
    printf '\nSelftest: %s.' "$(grep 'checks passed' "$logs/selftest.log" || echo 'not finished')"
    awk '{ n = $NF == "FAIL" ? NF - 1 : NF }
      n > 4 && $(n - 1) + 0 > 0 && $(n - 2) / $(n - 1) > worst {
        worst = $(n - 2) / $(n - 1); name = $1 " " $2
      }
      END { if (name) printf " The largest share of an allowed error was %.2f, of %s.", worst, name }' \
      "$logs/selftest.log"
    printf '\n'
    grep -E ' FAIL$' "$logs/selftest.log"
  fi
  cat "$logs"/bench-*.log 2> /dev/null
  [ ! -e "$logs/train.log" ] || grep -E '^step .*tokens/s' "$logs/train.log" | tail -n 1
  [ ${#missing[@]} -eq 0 ] || printf '\nMissing: %s.\n' "${missing[@]}"
}

section "machine"
find_card
find_tools
[ -n "$card" ] || { section "nothing was verified: there is no card"; exit 77; }
section "build"
folder=${1:-build/release}
[ $# -gt 0 ] || make_build
[ -x "$folder/tapir" ] || { section "nothing was verified: $folder/tapir is missing"; exit 1; }
folder=$(cd "$folder" && pwd)
export TAPIR_CUDA_PLUGIN=${TAPIR_CUDA_PLUGIN:-$folder/libtapir_cuda.so} TAPIR_EXPECT_CUDA=1
section "parity with the CPU"
step selftest 90 "$folder/tapir" selftest --device cuda
check_wrappers
check_parity
section "training"
measure
section "memory checkers"
check_memory
write_results > "$results"
section "$results, for docs/gpu-results.md"
cat "$results"
[ ${#failures[@]} -eq 0 ] || { section "failed: ${failures[*]}"; exit 1; }
