#!/usr/bin/env bash
# cuda.sh ROOT: kernel sources stay readable beside the CPU's and can run on the simulated device:
# they include nothing of NVIDIA's, launch through launch(), and leave inline PTX and raw shared
# memory to backends/cuda/compiler.h.
set -u
cd "$1" || exit 2
[ -d backends/cuda ] || exit 0
status=0
report() { if [ -n "$2" ]; then printf 'cuda: %s\n%s\n' "$1" "$2" >&2; status=1; fi; }

mapfile -t code < <(find backends/cuda -type f ! -name compiler.h | sort)
report 'inline PTX outside compiler.h' "$(grep -nwE 'asm|__asm__' "${code[@]}" /dev/null)"
report 'raw shared memory outside compiler.h' "$(grep -nw '__shared__' "${code[@]}" /dev/null)"
report 'a launch that bypasses launch()' \
  "$(grep -nE '<<<|cudaLaunchKernel' "${code[@]}" /dev/null)"
report 'float atomics, whose order is not fixed' \
  "$(grep -nE 'atomicAdd\(.*([0-9.]f|float|double)' "${code[@]}" /dev/null)"
mapfile -t kernels < <(find backends/cuda -type f -name '*.cu' | sort)
report 'a kernel source that includes more than headers of backends/cuda and the standard library' \
  "$(grep -nE '^#include' "${kernels[@]}" /dev/null |
    grep -vE '"backends/cuda/[a-z_]+\.h"|<[a-z_]+>')"
report 'a kernel source without device.h' \
  "$(for file in "${kernels[@]}"; do
    grep -q '#include "backends/cuda/device.h"' "$file" || echo "$file"
  done)"
exit $status
