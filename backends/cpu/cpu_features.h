// Which instructions this processor offers, and which set of kernels to use.
#pragma once

#include <string>
#include <string_view>

namespace tapir::cpu {

struct Features {
  bool avx2 = false;    // with FMA, F16C and BMI: what the baseline kernels need
  bool avx512 = false;  // F, BW, CD, DQ and VL
  bool amx = false;   // AMX_TILE, AMX_BF16 and AVX512_BF16, and the system lets this process use it
  std::string model;  // as the processor calls itself
};

// Decided by feature bits (and the system's support of the registers), never by model numbers.
const Features& features();

// Each has the instructions of those before it. For amx the kernels are those for AVX-512, and
// products of bf16 use AMX.
enum class Isa { avx2, avx512, amx };

constexpr std::string_view name_of(Isa isa) {
  return isa == Isa::avx2 ? "avx2" : isa == Isa::avx512 ? "avx512" : "amx";
}

// The highest that this build has kernels for; those for AVX2 it always has.
Isa best_built();
// The highest that the processor can run. One without AVX2 is an Error.
Isa best_of(const Features& available);

// The best that build and processor have, unless `wanted` ("" for no wish; avx2, avx512, amx) asks
// for less. An unknown or impossible wish is an Error, as is a processor without AVX2.
Isa choose_isa(const Features& available, Isa built, std::string_view wanted);

// The choice for this process: the wish is the environment variable TAPIR_CPU.
Isa chosen_isa();

}  // namespace tapir::cpu
