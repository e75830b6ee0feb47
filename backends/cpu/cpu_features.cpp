#include "backends/cpu/cpu_features.h"

#include <cstdlib>
#include <cstring>

#include <cpuid.h>

#include "backends/error.h"

namespace tapir::cpu {
namespace {

// The brand string of CPUID leaves 0x80000002 to 0x80000004.
std::string read_model() {
  unsigned int words[12] = {};
  for (unsigned int leaf = 0; leaf < 3; ++leaf) {
    unsigned int* w = words + 4 * leaf;
    if (__get_cpuid(0x80000002u + leaf, &w[0], &w[1], &w[2], &w[3]) == 0) return "unknown";
  }
  char text[sizeof(words) + 1] = {};
  std::memcpy(text, words, sizeof(words));
  const std::string model = text;
  const size_t begin = model.find_first_not_of(' ');
  if (begin == std::string::npos) return "unknown";
  return model.substr(begin, model.find_last_not_of(' ') - begin + 1);
}

Features detect() {
  Features found;
  // These built-ins also ask (XGETBV) whether the system saves the wide registers.
  found.avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
               __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  unsigned int a = 0, b = 0, c = 0, d = 0;
  constexpr unsigned int kF16c = 1u << 29;
  found.avx2 = found.avx2 && __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & kF16c) != 0;
  found.avx512 = found.avx2 && __builtin_cpu_supports("avx512f") &&
                 __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
                 __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  found.model = read_model();
  return found;
}

}  // namespace

const Features& features() {
  static const Features found = detect();
  return found;
}

Isa choose_isa(const Features& available, bool avx512_built, std::string_view wanted) {
  require(available.avx2, "cpu", "the processor ({}) has no AVX2 with FMA, which tapir needs",
          available.model);
  const Isa best = available.avx512 && avx512_built ? Isa::avx512 : Isa::avx2;
  if (wanted.empty()) return best;
  if (wanted == name_of(Isa::avx2)) return Isa::avx2;
  require(wanted == name_of(Isa::avx512), "TAPIR_CPU",
          "unknown instruction set '{}'; use avx2 or avx512, or unset it", wanted);
  require(available.avx512, "TAPIR_CPU", "the processor ({}) has no AVX-512; use avx2, or unset it",
          available.model);
  require(avx512_built, "TAPIR_CPU",
          "this build has no AVX-512 kernels; use avx2, or unset it, or build with avx512 in "
          "TAPIR_ISA_LIST");
  return best;
}

bool has_avx512_kernels() {
#ifdef TAPIR_WITH_AVX512
  return true;
#else
  return false;
#endif
}

Isa chosen_isa() {
  const char* wanted = std::getenv("TAPIR_CPU");
  return choose_isa(features(), has_avx512_kernels(), wanted == nullptr ? "" : wanted);
}

}  // namespace tapir::cpu
