#include "backends/cpu/instances.h"

namespace tapir::cpu {

const Backend* backend_for(Isa isa) {
#ifdef TAPIR_WITH_AMX
  if (isa == Isa::amx) {
    static const auto instance = avx512::make_cpu_backend(Isa::amx, amx::bf16_kernels());
    return instance.get();
  }
#endif
#ifdef TAPIR_WITH_AVX512
  if (isa == Isa::avx512) {
    static const auto instance = avx512::make_cpu_backend(Isa::avx512, {});
    return instance.get();
  }
#endif
  if (isa != Isa::avx2) return nullptr;
  static const auto instance = avx2::make_cpu_backend(Isa::avx2, {});
  return instance.get();
}

double multiply_add_loop([[maybe_unused]] Isa isa, int64_t rounds, float* result) {
#ifdef TAPIR_WITH_AVX512
  if (isa != Isa::avx2) return avx512::multiply_add_loop(rounds, result);
#endif
  return avx2::multiply_add_loop(rounds, result);
}

double tile_loop([[maybe_unused]] int64_t rounds) {
#ifdef TAPIR_WITH_AMX
  return amx::tile_loop(rounds);
#else
  return 0;
#endif
}

}  // namespace tapir::cpu
