// Which instructions this processor offers, and which set of kernels to use.
#pragma once

#include <string>
#include <string_view>

namespace tapir::cpu {

struct Features {
  bool avx2 = false;    // with FMA, F16C and BMI: what the baseline kernels need
  bool avx512 = false;  // F, BW, CD, DQ and VL
  std::string model;    // as the processor calls itself
};

// Decided by feature bits (and the system's support of the registers), never by model numbers.
const Features& features();

enum class Isa { avx2, avx512 };

constexpr std::string_view name_of(Isa isa) {
  return isa == Isa::avx2 ? "avx2" : "avx512";
}

// Whether this build has the AVX-512 kernels; those for AVX2 it always has.
bool has_avx512_kernels();

// The best instruction set of `available` and of the build, unless `wanted` ("" for no wish; avx2,
// avx512) asks for less. An unknown or impossible wish is an Error, as is a processor without AVX2.
Isa choose_isa(const Features& available, bool avx512_built, std::string_view wanted);

// The choice for this process: the wish is the environment variable TAPIR_CPU.
Isa chosen_isa();

}  // namespace tapir::cpu
