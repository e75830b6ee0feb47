// Softmax and its logarithm over the last axis.
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {
namespace {

constexpr int64_t kCost = 16;  // per element, for parallel_for

template <typename T>
void softmax_row(const T* x, int64_t n, T* out) {
  using A = Accum<T>;
  const A largest = lane_max<A>(n, [=](int64_t i) { return widen(x[i]); });
  if (largest == -std::numeric_limits<A>::infinity()) {
    // Every element is -inf or NaN; only NaNs remain visible.
    for (int64_t i = 0; i < n; ++i) out[i] = narrow<T>(widen(x[i]) < A(0) ? A(0) : widen(x[i]));
    return;
  }
  if constexpr (std::is_same_v<T, A>) {
    // The exponentials rest in the output until their sum is known.
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = scalar::exp(x[i] - largest);
    const A scale = A(1) / lane_sum<A>(n, [=](int64_t i) { return out[i]; });
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] *= scale;
  } else {
    const auto term = [=](int64_t i) { return scalar::exp(widen(x[i]) - largest); };
    const A scale = A(1) / lane_sum<A>(n, term);
#pragma omp simd
    for (int64_t i = 0; i < n; ++i) out[i] = narrow<T>(term(i) * scale);
  }
}

template <typename T>
void log_softmax_row(const T* x, int64_t n, T* out) {
  using A = Accum<T>;
  const A largest = lane_max<A>(n, [=](int64_t i) { return widen(x[i]); });
  if (largest == -std::numeric_limits<A>::infinity()) {
    for (int64_t i = 0; i < n; ++i) out[i] = x[i];
    return;
  }
  const A sum = lane_sum<A>(n, [=](int64_t i) { return scalar::exp(widen(x[i]) - largest); });
  const A log_sum = std::log(sum);
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = narrow<T>(widen(x[i]) - largest - log_sum);
}

}  // namespace

void CpuBackend::softmax(ConstView x, bool log, View out) const {
  dispatch_floating(x.dtype, "softmax", [&]<typename T>() {
    const int64_t n = x.row_length();
    cpu::parallel_for(x.rows(), n * kCost, [&](int64_t row) {
      const T* from = x.as<T>() + row * n;
      T* to = out.as<T>() + row * n;
      log ? log_softmax_row(from, n, to) : softmax_row(from, n, to);
    });
  });
}

// With y = softmax(x): dx = y (g - sum(g y)); with y = log softmax(x): dx = g - exp(y) sum(g).
void CpuBackend::softmax_backward(ConstView grad, ConstView out, bool log, View dx) const {
  dispatch_floating(grad.dtype, "softmax_backward", [&]<typename T>() {
    using A = Accum<T>;
    const int64_t n = grad.row_length();
    cpu::parallel_for(grad.rows(), n * kCost, [&](int64_t row) {
      const T* g = grad.as<T>() + row * n;
      const T* y = out.as<T>() + row * n;
      T* to = dx.as<T>() + row * n;
      if (log) {
        // A row that was all -inf has no gradient.
        const A largest = lane_max<A>(n, [=](int64_t i) { return widen(y[i]); });
        if (largest == -std::numeric_limits<A>::infinity()) {
          std::fill_n(to, n, narrow<T>(A(0)));
          return;
        }
        const A sum = lane_sum<A>(n, [=](int64_t i) { return widen(g[i]); });
#pragma omp simd
        for (int64_t i = 0; i < n; ++i)
          to[i] = narrow<T>(widen(g[i]) - scalar::exp(widen(y[i])) * sum);
      } else {
        const A sum = lane_sum<A>(n, [=](int64_t i) { return widen(g[i]) * widen(y[i]); });
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) to[i] = narrow<T>(widen(y[i]) * (widen(g[i]) - sum));
      }
    });
  });
}

}  // namespace tapir::TAPIR_ISA
