#include "backends/cpu/cpu_features.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/enum_names.h"

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

// Linux saves the tiles of AMX only for processes that have asked for it, because they are large.
bool request_tiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;  // of <asm/prctl.h>, newer than some
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool detect_amx() {
  constexpr unsigned int kAmxBf16 = 1u << 22, kAmxTile = 1u << 24, kAvx512Bf16 = 1u << 5;
  unsigned int a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  const bool tiles = (d & kAmxBf16) != 0 && (d & kAmxTile) != 0;
  if (!tiles || __get_cpuid_count(7, 1, &a, &b, &c, &d) == 0) return false;
  return (a & kAvx512Bf16) != 0 && request_tiles();
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
  found.amx = found.avx512 && detect_amx();
  found.model = read_model();
  return found;
}

}  // namespace

const Features& features() {
  static const Features found = detect();
  return found;
}

Isa best_built() {
#if defined(TAPIR_WITH_AMX)
  return Isa::amx;
#elif defined(TAPIR_WITH_AVX512)
  return Isa::avx512;
#else
  return Isa::avx2;
#endif
}

Isa best_of(const Features& available) {
  require(available.avx2, "cpu", "the processor ({}) has no AVX2 with FMA, which tapir needs",
          available.model);
  return available.amx ? Isa::amx : available.avx512 ? Isa::avx512 : Isa::avx2;
}

Isa choose_isa(const Features& available, Isa built, std::string_view wanted) {
  const Isa runs = best_of(available), best = std::min(runs, built);
  if (wanted.empty()) return best;
  static constexpr EnumNames<Isa, 3> kNames = {
      {{Isa::avx2, "avx2"}, {Isa::avx512, "avx512"}, {Isa::amx, "amx"}}};
  const Isa isa = parse_name(kNames, "TAPIR_CPU", wanted);
  require(isa <= runs || isa != Isa::avx512, "TAPIR_CPU",
          "the processor ({}) has no AVX-512; use {}, or unset it", available.model, name_of(best));
  require(isa <= runs, "TAPIR_CPU",
          "the processor ({}) has no AMX for bf16, or the system does not let programs use it; use "
          "{}, or unset it",
          available.model, name_of(best));
  require(isa <= built, "TAPIR_CPU",
          "this build has no {0} kernels; use {1}, or unset it, or build with {0} in "
          "TAPIR_ISA_LIST",
          name_of(isa), name_of(best));
  return isa;
}

Isa chosen_isa() {
  const char* wanted = std::getenv("TAPIR_CPU");
  return choose_isa(features(), best_built(), wanted == nullptr ? "" : wanted);
}

}  // namespace tapir::cpu
