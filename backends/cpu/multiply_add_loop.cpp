// What the processor can do at best: multiplications with addition that wait for nothing.
#include "backends/cpu/instances.h"
#include "backends/cpu/vector.h"

namespace tapir::TAPIR_ISA {

double multiply_add_loop(int64_t rounds, float* result) {
  constexpr int kChains = 12;  // independent of each other, so that none waits for the one before
  FloatVector sums[kChains];
  unroll<kChains>([&](auto i) { sums[i] = FloatVector::repeat(static_cast<float>(i)); });
  const FloatVector factor = FloatVector::repeat(0.999f), term = FloatVector::repeat(1e-3f);
  for (int64_t round = 0; round < rounds; ++round)
    unroll<kChains>([&](auto i) { sums[i] = multiply_add(sums[i], factor, term); });
  FloatVector total = FloatVector::zero();
  unroll<kChains>([&](auto i) { total = total + sums[i]; });
  total.store_first(result, 1);
  return 2.0 * kChains * FloatVector::kLanes * static_cast<double>(rounds);
}

}  // namespace tapir::TAPIR_ISA
