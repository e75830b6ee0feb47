// Cross-entropy from logits: a block per row, one pass over the logits.
#include "backends/cuda/device.h"
#include "backends/cuda/row_statistics.h"

namespace tapir::cuda {
namespace {

template <typename T>
__global__ void cross_entropy_kernel(const T* logits, const int32_t* targets, int64_t length,
                                     int64_t ignore_index, Accum<T>* losses, double* lse) {
  using A = Accum<T>;
  const int64_t row = blockIdx.x, target = targets[row];
  const T* x = logits + row * length;
  const RowStatistics<A> statistics = row_statistics(x, length);
  if (threadIdx.x != 0) return;
  // Of a row without a number above -inf only NaNs remain visible.
  const bool empty = statistics.largest == -infinity<A>();
  const double total =
      empty && statistics.sum == statistics.sum
          ? -infinity<double>()
          : static_cast<double>(statistics.largest) + std::log(static_cast<double>(statistics.sum));
  lse[row] = total;
  if (target == ignore_index) {
    losses[row] = A(0);
  } else if (total == -infinity<double>()) {
    losses[row] = infinity<A>();
  } else {
    losses[row] = static_cast<A>(total - static_cast<double>(widen(x[target])));
  }
}

template <typename T>
__global__ void cross_entropy_backward_kernel(const Accum<T>* grad, const T* logits,
                                              const int32_t* targets, int64_t length,
                                              int64_t ignore_index, const double* lse, T* dlogits) {
  using A = Accum<T>;
  const int64_t row = blockIdx.x, target = targets[row];
  const T* x = logits + row * length;
  T* dx = dlogits + row * length;
  const double total = lse[row];
  // Taken off in two parts: near 1000 one f32 alone is off by 3e-5, and so were the gradient.
  const A g = grad[row], high = static_cast<A>(total);
  const A low = static_cast<A>(total - static_cast<double>(high));
  const bool counts = target != ignore_index && total != -infinity<double>();
  for (int64_t i = threadIdx.x; i < length; i += blockDim.x) {
    const A probability = counts ? fast_exp((widen(x[i]) - high) - low) : A(0);
    const A expected = i == target && counts ? A(1) : A(0);
    dx[i] = narrow<T>(counts ? g * (probability - expected) : A(0));
  }
}

}  // namespace

void CudaBackend::cross_entropy(ConstView logits, ConstView targets, int64_t ignore_index,
                                View losses, View lse) const {
  const int64_t rows = targets.numel(), length = logits.row_length();
  if (rows == 0) return;
  dispatch_floating(logits.dtype, "cross_entropy", [&]<typename T>() {
    launch(cross_entropy_kernel<T>, rows_for(rows, length), logits.as<T>(), targets.as<int32_t>(),
           length, ignore_index, losses.as<Accum<T>>(), lse.as<double>());
  });
}

void CudaBackend::cross_entropy_backward(ConstView grad, ConstView logits, ConstView targets,
                                         int64_t ignore_index, ConstView lse, View dlogits) const {
  const int64_t rows = targets.numel(), length = logits.row_length();
  if (rows == 0) return;
  dispatch_floating(logits.dtype, "cross_entropy_backward", [&]<typename T>() {
    launch(cross_entropy_backward_kernel<T>, rows_for(rows, length), grad.as<Accum<T>>(),
           logits.as<T>(), targets.as<int32_t>(), length, ignore_index, lse.as<double>(),
           dlogits.as<T>());
  });
}

}  // namespace tapir::cuda
