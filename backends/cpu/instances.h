// The CPU backend is compiled once for each instruction set.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/cpu_features.h"

namespace tapir::avx2 {
const Backend& cpu_backend();
double multiply_add_loop(int64_t rounds, float* result);
}  // namespace tapir::avx2

namespace tapir::avx512 {
const Backend& cpu_backend();
double multiply_add_loop(int64_t rounds, float* result);
}  // namespace tapir::avx512

namespace tapir::cpu {

// The backend compiled for `isa`, or null where this build does not have it (builds for checks
// have the baseline only). It may be used only if the processor has these instructions.
const Backend* backend_for(Isa isa);

// Keeps this thread's multipliers busy for `rounds` rounds with the instructions of `isa`, which
// build and processor must have; returns the number of floating-point operations. `result` gets a
// number, so that the work cannot be left out.
double multiply_add_loop(Isa isa, int64_t rounds, float* result);

}  // namespace tapir::cpu
