// The CPU backend is compiled once for each instruction set.
#pragma once

#include <memory>

#include "backends/backend.h"
#include "backends/cpu/cpu_features.h"

namespace tapir::cpu {

// Kernels that multiply bf16, as bf16_product.h and bf16_attention.h have them; null: there is
// none.
struct Bf16Kernels {
  void (*product)(ConstView a, ConstView b, View out, int parts) = nullptr;
  void (*attention)(ConstView q, ConstView k, ConstView v, ConstView mask,
                    const AttentionOptions& options, View out, View lse) = nullptr;
  void (*attention_backward)(ConstView grad, ConstView q, ConstView k, ConstView v, ConstView mask,
                             ConstView out, ConstView lse, const AttentionOptions& options, View dq,
                             View dk, View dv) = nullptr;
};

// The backend compiled for `isa`, or null where this build does not have it (builds for checks
// have the baseline only). It may be used only if the processor has these instructions.
const Backend* backend_for(Isa isa);

// Keeps this thread's multipliers busy for `rounds` rounds with the instructions of `isa`, which
// build and processor must have; returns the number of floating-point operations. `result` gets a
// number, so that the work cannot be left out.
double multiply_add_loop(Isa isa, int64_t rounds, float* result);
// The same for the tiles of AMX, which build and processor must have.
double tile_loop(int64_t rounds);

}  // namespace tapir::cpu

// A backend that calls itself `isa`. With a product of bf16 it multiplies bf16, and f32 if less
// than the highest precision is asked for.
namespace tapir::avx2 {
std::unique_ptr<const Backend> make_cpu_backend(cpu::Isa isa, const cpu::Bf16Kernels& bf16);
double multiply_add_loop(int64_t rounds, float* result);
}  // namespace tapir::avx2

namespace tapir::avx512 {
std::unique_ptr<const Backend> make_cpu_backend(cpu::Isa isa, const cpu::Bf16Kernels& bf16);
double multiply_add_loop(int64_t rounds, float* result);
}  // namespace tapir::avx512

namespace tapir::amx {
cpu::Bf16Kernels bf16_kernels();
double tile_loop(int64_t rounds);
}  // namespace tapir::amx
