#!/usr/bin/env bash
# run.sh: everything that needs a real GPU, from a machine with nvcc and the packages of
# .ci/setup.sh. Builds, compares the CUDA backend with the CPU's, runs a memory checker where one
# works, and prints what docs/gpu-results.md should say. Leaves the logs in build/gpu.
set -u
cd "$(dirname "$0")/../.." || exit 1
. .ci/setup.sh
logs=build/gpu
mkdir -p "$logs"
status=0

section() { printf '\n== %s\n' "$*"; }

# run NAME SECONDS COMMAND...: with a time limit, its output in a log, its result in one line.
run() {
  local name=$1 seconds=$2 start=$SECONDS code
  shift 2
  timeout "$seconds" "$@" > "$logs/$name.log" 2>&1
  code=$?
  printf '%-24s %s in %d s\n' "$name" "$([ $code -eq 0 ] && echo passed || echo "FAILED ($code)")" \
    $((SECONDS - start))
  if [ $code -ne 0 ]; then tail -n 20 "$logs/$name.log"; status=1; fi
}

section "machine"
nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader || exit 1
nvcc --version 2> /dev/null | tail -n 2 || /usr/local/cuda/bin/nvcc --version | tail -n 2

section "build"
setup_packages "${build_packages[@]}" || exit 1
build release tapir_program tapir_cuda cuda_parity_test cuda_training_test || exit 1
export TAPIR_CUDA_PLUGIN=$PWD/build/release/libtapir_cuda.so TAPIR_EXPECT_CUDA=1

section "parity with the CPU"
run parity 180 build/release/tests/cuda_parity_test
run training 60 build/release/tests/cuda_training_test
sed -n 's/^\(\[  FAILED  \].*\)/\1/p' "$logs/parity.log" "$logs/training.log" | sort -u | head -n 20

section "memory checker"
checker=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2> /dev/null)
if [ -n "$checker" ]; then
  for tool in memcheck racecheck; do
    TAPIR_CUDA_NO_RECYCLING=1 run "$tool" 90 "$checker" --tool $tool --error-exitcode 9 \
      build/release/tests/cuda_parity_test --gtest_filter='CudaTest.*-CudaTest.Running*'
  done
else
  echo "compute-sanitizer is not installed: skipped"
fi

section "training"
sample=$logs/corpus.txt
seq 1 60000 | awk '{ printf "the number %d is %s. ", $1, $1 % 2 ? "odd" : "even" }' > "$sample"
for device in cuda cpu; do
  run "train-$device" 60 build/release/tapir train --data "$sample" --out "$logs/run-$device" \
    --device $device --steps 20
  grep -iE 'tok/s|tokens' "$logs/train-$device.log" | tail -n 2
done
exit $status
