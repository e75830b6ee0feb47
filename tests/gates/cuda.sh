#!/usr/bin/env bash
# cuda.sh ROOT: kernel sources stay readable beside the CPU's and can run on the simulated device:
# they include device.h, headers of kernels (which include it too) and the standard library, launch
# through launch(), and leave inline PTX and raw shared memory to backends/cuda/compiler.h.
set -u
cd "$1" || exit 2
[ -d backends/cuda ] || exit 0
status=0
report() { if [ -n "$2" ]; then printf 'cuda: %s\n%s\n' "$1" "$2" >&2; status=1; fi; }

mapfile -t code < <(find backends/cuda -type f ! -name compiler.h | sort)
# banned WHAT PATTERN: whole words that no file but compiler.h may contain.
banned() { report "$1" "$(grep -nwE "$2" "${code[@]}" /dev/null)"; }
banned 'inline PTX outside compiler.h' 'asm|__asm__'
banned 'raw shared memory outside compiler.h' '__shared__'
banned 'memory that the simulated device does not have' '__constant__|__managed__'
banned 'a library whose kernels the simulated device cannot run' 'cooperative_groups|cub|thrust'
report 'a launch that bypasses launch()' \
  "$(grep -nE '<<<|cudaLaunch(Cooperative)?Kernel' "${code[@]}" /dev/null)"
# The simulator refuses those whose type is a float; this finds them without a build.
report 'float atomics, whose order is not fixed' \
  "$(grep -nE 'atomicAdd\(.*([0-9.]f|float|double)' "${code[@]}" /dev/null)"

mapfile -t kernels < <(find backends/cuda -type f -name '*.cu' | sort)
report 'a kernel source without device.h' \
  "$(grep -L '#include "backends/cuda/device.h"' "${kernels[@]}" /dev/null | grep -v '^/dev/null$')"
mapfile -t headers < <(grep -l '#include "backends/cuda/device.h"' backends/cuda/*.h 2> /dev/null)
allowed="$(printf '"%s"|' backends/cuda/device.h "${headers[@]}")<[a-z_]+>"
report 'a kernel that includes more than device.h, headers of kernels and the standard library' \
  "$(grep -nE '^ *# *include' "${kernels[@]}" "${headers[@]}" /dev/null | grep -vE "($allowed)")"
exit $status
