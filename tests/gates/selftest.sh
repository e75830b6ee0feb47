#!/usr/bin/env bash
# selftest.sh: plants one fault for each gate into a small tree and expects the gate to find it.
set -u
gates=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
status=0

# A tree in which every gate is content.
clean_tree() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/{backends,autograd,nn,optim,apps,tests}
  for folder in backends autograd nn optim apps tests; do
    echo 'library(x a.cpp)' > "$tree/$folder/CMakeLists.txt"
    echo 'int value();' > "$tree/$folder/a.cpp"
  done
  echo '#include "autograd/a.h"' >> "$tree/nn/a.cpp"
}

# expect pass|fail GATE WHAT
expect() {
  local outcome=pass
  bash "$gates/$2.sh" "$tree" > /dev/null 2>&1 || outcome=fail
  if [ "$outcome" != "$1" ]; then
    echo "selftest: $2 should $1: $3" >&2
    status=1
  fi
}

for gate in layering text listed; do clean_tree; expect pass "$gate" "the clean tree"; done
clean_tree; echo '#include "nn/a.h"' >> "$tree/backends/a.cpp"; expect fail layering "upward include"
clean_tree; echo '#include "nn/a.h"' >> "$tree/optim/a.cpp"; expect fail layering "sideways include"
clean_tree; echo '#include "a.h"' >> "$tree/nn/a.cpp"; expect fail layering "relative include"
clean_tree; yes 'int x;' | head -501 > "$tree/nn/a.cpp"; expect fail text "a file of 501 lines"
clean_tree; printf '// %0100d\n' 0 >> "$tree/nn/a.cpp"; expect fail text "a line of 103 columns"
clean_tree; printf '// %s\n' TO''DO >> "$tree/nn/a.cpp"; expect fail text "a reminder"
clean_tree; printf '// "/%s/x"\n' home >> "$tree/nn/a.cpp"; expect fail text "a machine's path"
clean_tree; echo > "$tree/nn/b.cpp"; expect fail listed "a source outside the list"
clean_tree; echo > "$tree/tests/b_test.cpp"; expect fail listed "a test outside the list"

# A tree with one kernel source and one header beside device.h.
mkdir -p "$tree/backends/cuda"
clean_tree() { rm -f "$tree"/backends/cuda/*; }
# kernel LINE [HEADER-LINE]: a kernel source and a header of kernels that hold the lines.
kernel() {
  printf '#include "backends/cuda/device.h"\n%s\n' "$1" > "$tree/backends/cuda/a.cu"
  printf '#include "backends/cuda/device.h"\n%s\n' "${2:-}" > "$tree/backends/cuda/a.h"
}
kernel '#include <vector>' 'int value();'; expect pass cuda "a plain kernel source"
kernel '#include "backends/cuda/a.h"'; expect pass cuda "a header of kernels"
kernel '#include <cuda_runtime.h>'; expect fail cuda "a header of NVIDIA's"
kernel '#include <cub/cub.cuh>'; expect fail cuda "a header of NVIDIA's in a folder"
kernel '' '#include <cuda_fp16.h>'; expect fail cuda "a header of NVIDIA's in a header of kernels"
kernel '#include "backends/cuda/compiler.h"'; expect fail cuda "compiler.h without device.h"
kernel '#include "nn/module.h"'; expect fail cuda "a header of another folder"
kernel ''; echo 'int value();' > "$tree/backends/cuda/b.cu"; expect fail cuda "no device.h at all"
clean_tree
kernel 'asm volatile("");'; expect fail cuda "inline PTX"
kernel '' '__asm__("");'; expect fail cuda "inline PTX in a header"
kernel '__shared__ float x[4];'; expect fail cuda "raw shared memory"
kernel '' 'extern __shared__ float x[];'; expect fail cuda "raw shared memory in a header"
kernel '__constant__ float x[4];'; expect fail cuda "constant memory"
kernel 'namespace cg = cooperative_groups;'; expect fail cuda "cooperative groups"
kernel 'kernel<<<1, 1>>>(x);'; expect fail cuda "a raw launch"
kernel 'cudaLaunchKernelEx(&c, kernel);'; expect fail cuda "a launch by the runtime"
kernel 'atomicAdd(sum, 1.0f);'; expect fail cuda "a float atomic"
exit $status
