// Softmax and its logarithm over the last axis: a block per row.
#include "backends/cuda/device.h"
#include "backends/cuda/row_statistics.h"

namespace tapir::cuda {
namespace {

template <typename T>
__global__ void softmax_kernel(const T* x, int64_t length, bool log, T* out) {
  using A = Accum<T>;
  const T* from = x + blockIdx.x * length;
  T* to = out + blockIdx.x * length;
  const RowStatistics<A> row = row_statistics(from, length);
  const A scale = A(1) / row.sum, log_sum = std::log(row.sum);
  for (int64_t i = threadIdx.x; i < length; i += blockDim.x) {
    const A value = widen(from[i]);
    if (row.largest == -infinity<A>()) {
      // Every element is -inf or NaN; only NaNs remain visible.
      to[i] = narrow<T>(log || value != value ? value : A(0));
    } else {
      to[i] =
          narrow<T>(log ? value - row.largest - log_sum : fast_exp(value - row.largest) * scale);
    }
  }
}

// With y = softmax(x): dx = y (g - sum(g y)); with y = log softmax(x): dx = g - exp(y) sum(g),
// and zero for a row that was all -inf.
template <typename T>
__global__ void softmax_backward_kernel(const T* grad, const T* out, int64_t length, bool log,
                                        T* dx) {
  using A = Accum<T>;
  const T* g = grad + blockIdx.x * length;
  const T* y = out + blockIdx.x * length;
  T* to = dx + blockIdx.x * length;
  A sum = 0, largest = -infinity<A>();
  for (int64_t i = threadIdx.x; i < length; i += blockDim.x) {
    const A value = widen(y[i]);
    sum += log ? widen(g[i]) : widen(g[i]) * value;
    largest = Largest()(value, largest);
  }
  sum = block_sum(sum);
  largest = block_max(largest);
  for (int64_t i = threadIdx.x; i < length; i += blockDim.x) {
    const A gradient = widen(g[i]), value = widen(y[i]);
    if (log) {
      to[i] = narrow<T>(largest == -infinity<A>() ? A(0) : gradient - fast_exp(value) * sum);
    } else {
      to[i] = narrow<T>(value * (gradient - sum));
    }
  }
}

}  // namespace

void CudaBackend::softmax(ConstView x, bool log, View out) const {
  if (x.numel() == 0) return;
  dispatch_floating(x.dtype, "softmax", [&]<typename T>() {
    launch(softmax_kernel<T>, rows_for(x.rows(), x.row_length()), x.as<T>(), x.row_length(), log,
           out.as<T>());
  });
}

void CudaBackend::softmax_backward(ConstView grad, ConstView out, bool log, View dx) const {
  if (grad.numel() == 0) return;
  dispatch_floating(grad.dtype, "softmax_backward", [&]<typename T>() {
    launch(softmax_backward_kernel<T>, rows_for(grad.rows(), grad.row_length()), grad.as<T>(),
           out.as<T>(), grad.row_length(), log, dx.as<T>());
  });
}

}  // namespace tapir::cuda
