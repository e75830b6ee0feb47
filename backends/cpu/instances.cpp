#include "backends/cpu/instances.h"

namespace tapir::cpu {

const Backend* backend_for(Isa isa) {
  if (isa == Isa::avx2) return &avx2::cpu_backend();
#ifdef TAPIR_WITH_AVX512
  return &avx512::cpu_backend();
#else
  return nullptr;
#endif
}

double multiply_add_loop([[maybe_unused]] Isa isa, int64_t rounds, float* result) {
#ifdef TAPIR_WITH_AVX512
  if (isa == Isa::avx512) return avx512::multiply_add_loop(rounds, result);
#endif
  return avx2::multiply_add_loop(rounds, result);
}

}  // namespace tapir::cpu
