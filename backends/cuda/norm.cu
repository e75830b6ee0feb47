// LayerNorm and RMSNorm over the last axis, with their gradients. RMSNorm is LayerNorm with the
// mean taken as zero, so one set of kernels serves both: `mean` is null for RMSNorm.
#include "backends/cuda/device.h"

namespace tapir::cuda {
namespace {

template <typename T>
__global__ void norm_kernel(const T* x, const T* weight, const T* bias, int64_t length, double eps,
                            T* out, Accum<T>* mean, Accum<T>* rstd) {
  using A = Accum<T>;
  const T* from = x + blockIdx.x * length;
  T* to = out + blockIdx.x * length;
  const A count = static_cast<A>(length);
  A m = 0;
  if (mean != nullptr) {
    for (int64_t i = threadIdx.x; i < length; i += blockDim.x) m += widen(from[i]);
    m = block_sum(m) / count;
  }
  A squares = 0;
  for (int64_t i = threadIdx.x; i < length; i += blockDim.x) {
    const A d = widen(from[i]) - m;
    squares += d * d;
  }
  const A r = A(1) / std::sqrt(block_sum(squares) / count + static_cast<A>(eps));
  for (int64_t i = threadIdx.x; i < length; i += blockDim.x) {
    const A shift = bias == nullptr ? A(0) : widen(bias[i]);
    to[i] = narrow<T>((widen(from[i]) - m) * r * widen(weight[i]) + shift);
  }
  if (threadIdx.x != 0) return;
  if (mean != nullptr) mean[blockIdx.x] = m;
  rstd[blockIdx.x] = r;
}

// With xhat = (x - mean) rstd and h = g w: dx = rstd (h - mean(h) - xhat mean(h xhat)), without
// the term mean(h) for RMSNorm.
template <typename T>
__global__ void norm_backward_kernel(const T* grad, const T* x, const T* weight, int64_t length,
                                     const Accum<T>* mean, const Accum<T>* rstd, T* dx) {
  using A = Accum<T>;
  const T* g = grad + blockIdx.x * length;
  const T* from = x + blockIdx.x * length;
  T* to = dx + blockIdx.x * length;
  const A m = mean == nullptr ? A(0) : mean[blockIdx.x], r = rstd[blockIdx.x];
  const A count = static_cast<A>(length);
  A sum = 0, projection = 0;
  for (int64_t i = threadIdx.x; i < length; i += blockDim.x) {
    const A h = widen(g[i]) * widen(weight[i]);
    sum += h;
    projection += h * ((widen(from[i]) - m) * r);
  }
  const A h_mean = mean == nullptr ? A(0) : block_sum(sum) / count;
  projection = block_sum(projection) / count;
  for (int64_t i = threadIdx.x; i < length; i += blockDim.x) {
    const A xhat = (widen(from[i]) - m) * r;
    to[i] = narrow<T>(r * (widen(g[i]) * widen(weight[i]) - h_mean - xhat * projection));
  }
}

// A thread adds up one column of a chunk of rows: of g xhat, and of g if dbias is wanted.
template <typename T>
__global__ void norm_weights_kernel(const T* grad, const T* x, int64_t rows, int64_t length,
                                    int64_t chunk_rows, const Accum<T>* mean, const Accum<T>* rstd,
                                    Accum<T>* dweight, Accum<T>* dbias) {
  using A = Accum<T>;
  const int64_t column = thread_item(), chunk = blockIdx.y;
  if (column >= length) return;
  const int64_t end = std::min((chunk + 1) * chunk_rows, rows);
  A weight_sum = 0, bias_sum = 0;
  for (int64_t row = chunk * chunk_rows; row < end; ++row) {
    const A g = widen(grad[row * length + column]);
    const A m = mean == nullptr ? A(0) : mean[row];
    weight_sum += g * ((widen(x[row * length + column]) - m) * rstd[row]);
    bias_sum += g;
  }
  dweight[chunk * length + column] = weight_sum;
  if (dbias != nullptr) dbias[chunk * length + column] = bias_sum;
}

template <typename T>
void norm_weights(ConstView grad, ConstView x, const Accum<T>* mean, const Accum<T>* rstd,
                  View dweight, View dbias) {
  constexpr int64_t kMinRows = 16, kMaxChunks = 128;
  const int64_t rows = x.rows(), length = x.row_length();
  const int64_t chunk_rows = std::max(kMinRows, (rows + kMaxChunks - 1) / kMaxChunks);
  const int64_t chunks = (rows + chunk_rows - 1) / chunk_rows;
  const size_t bytes = static_cast<size_t>(chunks * length) * sizeof(Accum<T>);
  const bool with_bias = dbias.data != nullptr;
  const Scratch weights(bytes), biases(with_bias ? bytes : 0);
  auto* bias_sums = with_bias ? biases.as<Accum<T>>() : nullptr;
  if (chunks > 0) {
    Grid grid = grid_for(length);
    grid.blocks.y = static_cast<unsigned>(chunks);
    launch(norm_weights_kernel<T>, grid, grad.as<T>(), x.as<T>(), rows, length, chunk_rows, mean,
           rstd, weights.as<Accum<T>>(), bias_sums);
  }
  sum_partial_rows(weights.as<void>(), chunks, length, dweight);
  if (with_bias) sum_partial_rows(bias_sums, chunks, length, dbias);
}

void norm(ConstView x, ConstView weight, ConstView bias, double eps, View out, View mean,
          View rstd) {
  if (x.numel() == 0) return;
  dispatch_floating(x.dtype, "norm", [&]<typename T>() {
    using A = Accum<T>;
    launch(norm_kernel<T>, rows_for(x.rows(), x.row_length()), x.as<T>(), weight.as<T>(),
           bias.as<T>(), x.row_length(), eps, out.as<T>(), mean.as<A>(), rstd.as<A>());
  });
}

void norm_backward(ConstView grad, ConstView x, ConstView weight, ConstView mean, ConstView rstd,
                   View dx, View dweight, View dbias) {
  if (x.row_length() == 0) return;
  dispatch_floating(x.dtype, "norm_backward", [&]<typename T>() {
    using A = Accum<T>;
    if (x.rows() > 0) {
      launch(norm_backward_kernel<T>, rows_for(x.rows(), x.row_length()), grad.as<T>(), x.as<T>(),
             weight.as<T>(), x.row_length(), mean.as<A>(), rstd.as<A>(), dx.as<T>());
    }
    norm_weights<T>(grad, x, mean.as<A>(), rstd.as<A>(), dweight, dbias);
  });
}

}  // namespace

void CudaBackend::layer_norm(ConstView x, ConstView weight, ConstView bias, double eps, View out,
                             View mean, View rstd) const {
  norm(x, weight, bias, eps, out, mean, rstd);
}

void CudaBackend::layer_norm_backward(ConstView grad, ConstView x, ConstView weight, ConstView mean,
                                      ConstView rstd, View dx, View dweight, View dbias) const {
  norm_backward(grad, x, weight, mean, rstd, dx, dweight, dbias);
}

void CudaBackend::rms_norm(ConstView x, ConstView weight, double eps, View out, View rstd) const {
  norm(x, weight, {}, eps, out, {}, rstd);
}

void CudaBackend::rms_norm_backward(ConstView grad, ConstView x, ConstView weight, ConstView rstd,
                                    View dx, View dweight) const {
  norm_backward(grad, x, weight, {}, rstd, dx, dweight, {});
}

}  // namespace tapir::cuda
