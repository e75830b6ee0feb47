// Scans of the last axis (argmax, running sums) and counts of bad elements.
#include <algorithm>
#include <atomic>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/strided_loop.h"

namespace tapir::TAPIR_ISA {
namespace {

// The position of the first NaN, else of the first largest element. Blocks whose elements are all
// at most the best so far are passed over without looking where they have what.
template <typename T>
int32_t first_largest(const T* x, int64_t n) {
  constexpr int64_t kBlock = 256;
  int64_t best = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(begin + kBlock, n);
    const auto limit = widen(x[best]);
    int above = 0;
#pragma omp simd reduction(| : above)
    for (int64_t i = begin; i < end; ++i) above |= widen(x[i]) <= limit ? 0 : 1;  // 1 for a NaN too
    if (above == 0) continue;
    for (int64_t i = begin; i < end; ++i) {
      const auto value = widen(x[i]);
      if (value != value) return static_cast<int32_t>(i);
      if (value > widen(x[best])) best = i;
    }
  }
  return static_cast<int32_t>(best);
}

// How many of n elements are infinite or NaN: those whose difference from themselves is NaN.
template <typename T, typename Step>
int64_t count_run(const T* values, Step step, int64_t n) {
  int64_t bad = 0;
#pragma omp simd reduction(+ : bad)
  for (int64_t i = 0; i < n; ++i) {
    const auto value = widen(values[i * step]);
    bad += value - value == 0 ? 0 : 1;
  }
  return bad;
}

}  // namespace

void CpuBackend::argmax(ConstView x, View index) const {
  const auto run = [&]<typename T>() {
    const int64_t n = x.row_length();
    cpu::parallel_for(x.rows(), n, [&](int64_t row) {
      index.as<int32_t>()[row] = first_largest(x.as<T>() + row * n, n);
    });
  };
  if (x.dtype == DType::i32) return run.template operator()<int32_t>();
  dispatch_floating(x.dtype, "argmax", run);
}

void CpuBackend::cumsum(ConstView x, bool reverse, View out) const {
  const auto run = [&]<typename T>() {
    using Sum = std::conditional_t<std::is_same_v<T, int32_t>, int64_t, double>;
    const int64_t n = x.row_length();
    cpu::parallel_for(x.rows(), 4 * n, [&](int64_t row) {
      const T* from = x.as<T>() + row * n;
      T* to = out.as<T>() + row * n;
      Sum sum = 0;
      for (int64_t i = 0; i < n; ++i) {
        const int64_t j = reverse ? n - 1 - i : i;
        sum += static_cast<Sum>(widen(from[j]));
        to[j] = narrow<T>(static_cast<Accum<T>>(sum));
      }
    });
  };
  if (x.dtype == DType::i32) return run.template operator()<int32_t>();
  dispatch_floating(x.dtype, "cumsum", run);
}

int64_t CpuBackend::count_nonfinite(ConstView x) const {
  if (!is_floating(x.dtype)) return 0;
  std::atomic<int64_t> total{0};
  dispatch_floating(x.dtype, "count_nonfinite", [&]<typename T>() {
    const StridedLoop<1> loop(x.shape, {x.strides});
    const int64_t step = loop.inner_steps[0];
    loop.run(1, [&](const auto& at, int64_t n) {
      const T* values = x.as<T>() + at[0];
      const int64_t bad = step == 1 ? count_run(values, std::integral_constant<int64_t, 1>(), n)
                                    : count_run(values, step, n);
      if (bad > 0) total.fetch_add(bad, std::memory_order_relaxed);
    });
  });
  return total.load();
}

}  // namespace tapir::TAPIR_ISA
