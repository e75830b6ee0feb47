// The weights that tokens are drawn with.
#include <algorithm>
#include <bit>

#include "backends/cpu/allocator.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {
namespace {

// What a loop over logits costs per element, for parallel_for.
constexpr int64_t kLookCost = 1, kWeightCost = 16;

// exp(x) for x <= 0, or 0 below 1e-306. Without branches, so that compilers make vector code of it:
// with a large vocabulary std::exp takes longer than a small model does. 2^n times the Taylor
// series of the rest, which is at most ln 2 / 2, so that the first term left out is below 2^-57.
inline double exponential(double x) {
  constexpr double kLowest = -706.0;
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  constexpr double kTerms[] = {1.0 / 6227020800,
                               1.0 / 479001600,
                               1.0 / 39916800,
                               1.0 / 3628800,
                               1.0 / 362880,
                               1.0 / 40320,
                               1.0 / 5040,
                               1.0 / 720,
                               1.0 / 120,
                               1.0 / 24,
                               1.0 / 6,
                               1.0 / 2,
                               1.0,
                               1.0};
  const double clamped = x < kLowest ? kLowest : x;
  const double shifted = clamped * 1.44269504088896340736 + kRound;
  const double n = shifted - kRound;
  const double rest = (clamped - n * kLn2High) - n * kLn2Low;
  double sum = 0.0;
  for (const double term : kTerms) sum = sum * rest + term;
  const int64_t exponent = std::bit_cast<int64_t>(shifted) - std::bit_cast<int64_t>(kRound);
  const double power = std::bit_cast<double>((exponent + 1023) << 52);
  return x < kLowest ? 0.0 : sum * power;
}

// The largest of n logits; NaN if one is not finite.
template <typename T>
double largest_of(const T* logits, int64_t n) {
  const T largest = lane_max<T>(n, [=](int64_t i) { return logits[i]; });
  const T zero = lane_sum<T>(n, [=](int64_t i) { return logits[i] * T(0); });
  return static_cast<double>(largest) + static_cast<double>(zero);
}

template <typename T>
bool weigh(ConstView logits, double temperature, View weights, View sums) {
  constexpr int64_t kBlock = Backend::kDrawBlock;
  const int64_t count = logits.numel(), blocks = sums.numel();
  const T* from = logits.as<T>();
  const cpu::Scratch<double> of_blocks(blocks);
  double* const highest = of_blocks.data();
  cpu::parallel_pieces(count, kBlock, kLookCost, [=](int64_t block, int64_t begin, int64_t end) {
    highest[block] = largest_of(from + begin, end - begin);
  });
  if (lane_sum<double>(blocks, [=](int64_t i) { return highest[i] * 0.0; }) != 0) return false;
  const double largest = *std::max_element(highest, highest + blocks);
  // The inverse of a tiny temperature is infinite, and 0 times that is not a number.
  const double scale = std::min(1.0 / temperature, std::numeric_limits<double>::max());
  auto* const to = weights.as<double>();
  auto* const sum = sums.as<double>();
  cpu::parallel_pieces(count, kBlock, kWeightCost, [=](int64_t block, int64_t begin, int64_t end) {
#pragma omp simd
    for (int64_t i = begin; i < end; ++i)
      to[i] = exponential((static_cast<double>(from[i]) - largest) * scale);
    sum[block] = lane_sum<double>(end - begin, [=](int64_t i) { return to[begin + i]; });
  });
  return true;
}

}  // namespace

bool CpuBackend::draw_weights(ConstView logits, double temperature, View weights, View sums) const {
  return logits.dtype == DType::f32 ? weigh<float>(logits, temperature, weights, sums)
                                    : weigh<double>(logits, temperature, weights, sums);
}

}  // namespace tapir::TAPIR_ISA
