#!/usr/bin/env bash
# isa_separation.sh PROGRAM: only functions in a namespace avx512 use AVX-512 registers, so the
# program starts and runs on processors without them. Looks at the linked machine code.
set -u
if ! command -v objdump > /dev/null; then
  echo "isa_separation: skipped, objdump is not installed" >&2
  exit 77
fi
# 32-byte registers beyond number 15 exist only in AVX-512 too.
objdump -d -C --no-show-raw-insn "$1" | awk '
  /^[0-9a-f]+ </ { function_name = $0; own = function_name ~ /avx512/; next }
  /%zmm|%k[0-7]|%[xy]mm(1[6-9]|2[0-9]|3[01])/ {
    if (own) inside++
    else if (!(function_name in seen)) { seen[function_name]; print function_name; outside++ }
  }
  END {
    print "isa_separation: " inside + 0 " AVX-512 instructions in their own functions, " \
          outside + 0 " other functions with some"
    exit outside > 0 || inside == 0
  }'
