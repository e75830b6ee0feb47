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

}  // namespace tapir::cpu
