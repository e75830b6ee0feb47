#!/usr/bin/env bash
# isa_separation.sh PROGRAM: only functions in a namespace avx512 or amx use AVX-512 registers, so
# the program starts and runs on processors without them. Looks at the linked machine code. Local
# functions are left out: nobody outside of the file that they were compiled in can call them.
set -u
if ! command -v objdump > /dev/null; then
  echo "isa_separation: skipped, objdump is not installed" >&2
  exit 77
fi
{ nm "$1"; objdump -d -C --no-show-raw-insn "$1"; } | awk '
  NF == 3 && $2 ~ /^[TWVui]$/ { global[$1]; next }
  /^[0-9a-f]+ </ { name = $0; own = name ~ /avx512|amx/ || !($1 in global); next }
  # Vector registers beyond number 15 exist only in AVX-512 too.
  /%zmm|%k[0-7]|%[xy]mm(1[6-9]|2[0-9]|3[01])/ {
    if (own) inside++
    else if (!(name in seen)) { seen[name]; print name; outside++ }
  }
  END {
    print "isa_separation: " inside + 0 " AVX-512 instructions in their own functions, " \
          outside + 0 " shared functions with some"
    exit outside > 0 || inside == 0
  }'
