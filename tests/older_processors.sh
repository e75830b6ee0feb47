#!/usr/bin/env bash
# older_processors.sh PROGRAM: on an emulated processor with AVX2 but no AVX-512 the program runs;
# on one without AVX2 it says so instead of stopping with an illegal instruction.
set -u
if ! command -v qemu-x86_64 > /dev/null; then
  echo "older_processors: skipped, qemu-x86_64 (package qemu-user) is not installed" >&2
  exit 77
fi
status=0
export OMP_NUM_THREADS=1
if ! qemu-x86_64 -cpu Haswell "$1" info; then
  echo "older_processors: fails on a processor with AVX2 and without AVX-512" >&2
  status=1
fi
message=$(qemu-x86_64 -cpu Nehalem "$1" info 2>&1)
if [ $? -ne 1 ] || ! grep -q AVX2 <<< "$message"; then
  echo "older_processors: without AVX2, expected exit status 1 and a reason, got: $message" >&2
  status=1
fi
exit $status
