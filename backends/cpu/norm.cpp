// LayerNorm and RMSNorm over the last axis, with their gradients.
#include <algorithm>

#include "backends/cpu/allocator.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {
namespace {

constexpr int64_t kCost = 6;  // per element, for parallel_for

// Gradients of weights are sums over rows. Rows are cut into at most kMaxChunks chunks, fixed by
// their number alone; each chunk sums into a row of its own, and these are added in order.
constexpr int64_t kMaxChunks = 64, kMinChunkRows = 16;

int64_t rows_per_chunk(int64_t rows) {
  return std::max(kMinChunkRows, (rows + kMaxChunks - 1) / kMaxChunks);
}

// out[c] = sum over chunks of partial[chunk * stride + c].
template <typename T>
void add_chunks(const Accum<T>* partial, int64_t chunks, int64_t stride, int64_t columns, T* out) {
  constexpr int64_t kColumns = 256;
  cpu::parallel_pieces(columns, kColumns, chunks, [&](int64_t, int64_t begin, int64_t end) {
    Accum<T> sum[kColumns] = {};
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const Accum<T>* row = partial + chunk * stride + begin;
#pragma omp simd
      for (int64_t c = 0; c < end - begin; ++c) sum[c] += row[c];
    }
    for (int64_t c = begin; c < end; ++c) out[c] = narrow<T>(sum[c - begin]);
  });
}

}  // namespace

void CpuBackend::layer_norm(ConstView x, ConstView weight, ConstView bias, double eps, View out,
                            View mean, View rstd) const {
  dispatch_floating(x.dtype, "layer_norm", [&]<typename T>() {
    using A = Accum<T>;
    const int64_t n = x.row_length();
    const T* w = weight.as<T>();
    const T* b = bias.as<T>();
    cpu::parallel_for(x.rows(), n * kCost, [&](int64_t row) {
      const T* from = x.as<T>() + row * n;
      T* to = out.as<T>() + row * n;
      const A m = lane_sum<A>(n, [=](int64_t i) { return widen(from[i]); }) / A(n);
      const A variance = lane_sum<A>(n,
                                     [=](int64_t i) {
                                       const A d = widen(from[i]) - m;
                                       return d * d;
                                     }) /
                         A(n);
      const A r = A(1) / std::sqrt(variance + static_cast<A>(eps));
      mean.as<A>()[row] = m;
      rstd.as<A>()[row] = r;
      if (b == nullptr) {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) to[i] = narrow<T>((widen(from[i]) - m) * r * widen(w[i]));
      } else {
#pragma omp simd
        for (int64_t i = 0; i < n; ++i)
          to[i] = narrow<T>((widen(from[i]) - m) * r * widen(w[i]) + widen(b[i]));
      }
    });
  });
}

// With xhat = (x - mean) rstd and h = g w:
// dx = rstd (h - mean(h) - xhat mean(h xhat)), dweight = sum g xhat, dbias = sum g.
void CpuBackend::layer_norm_backward(ConstView grad, ConstView x, ConstView weight, ConstView mean,
                                     ConstView rstd, View dx, View dweight, View dbias) const {
  dispatch_floating(x.dtype, "layer_norm_backward", [&]<typename T>() {
    using A = Accum<T>;
    const int64_t n = x.row_length(), rows = x.rows(), piece = rows_per_chunk(rows);
    const int64_t chunks = (rows + piece - 1) / piece;
    const T* w = weight.as<T>();
    const cpu::Scratch<A> partial(chunks * 2 * n);
    cpu::parallel_pieces(rows, piece, n * kCost, [&](int64_t chunk, int64_t begin, int64_t end) {
      A* dw = partial.data() + chunk * 2 * n;
      A* db = dw + n;
      std::fill_n(dw, 2 * n, A(0));
      for (int64_t row = begin; row < end; ++row) {
        const T* g = grad.as<T>() + row * n;
        const T* from = x.as<T>() + row * n;
        T* to = dx.as<T>() + row * n;
        const A m = mean.as<A>()[row], r = rstd.as<A>()[row];
        const A h_mean =
            lane_sum<A>(n, [=](int64_t i) { return widen(g[i]) * widen(w[i]); }) / A(n);
        const A projection =
            lane_sum<A>(
                n,
                [=](int64_t i) { return widen(g[i]) * widen(w[i]) * ((widen(from[i]) - m) * r); }) /
            A(n);
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          const A gradient = widen(g[i]), xhat = (widen(from[i]) - m) * r;
          dw[i] += gradient * xhat;
          db[i] += gradient;
          to[i] = narrow<T>(r * (gradient * widen(w[i]) - h_mean - xhat * projection));
        }
      }
    });
    add_chunks(partial.data(), chunks, 2 * n, n, dweight.as<T>());
    if (dbias.data != nullptr) add_chunks(partial.data() + n, chunks, 2 * n, n, dbias.as<T>());
  });
}

void CpuBackend::rms_norm(ConstView x, ConstView weight, double eps, View out, View rstd) const {
  dispatch_floating(x.dtype, "rms_norm", [&]<typename T>() {
    using A = Accum<T>;
    const int64_t n = x.row_length();
    const T* w = weight.as<T>();
    cpu::parallel_for(x.rows(), n * kCost, [&](int64_t row) {
      const T* from = x.as<T>() + row * n;
      T* to = out.as<T>() + row * n;
      const A squares = lane_sum<A>(n, [=](int64_t i) { return widen(from[i]) * widen(from[i]); });
      const A r = A(1) / std::sqrt(squares / A(n) + static_cast<A>(eps));
      rstd.as<A>()[row] = r;
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) to[i] = narrow<T>(widen(from[i]) * r * widen(w[i]));
    });
  });
}

// With xhat = x rstd and h = g w: dx = rstd (h - xhat mean(h xhat)), dweight = sum g xhat.
void CpuBackend::rms_norm_backward(ConstView grad, ConstView x, ConstView weight, ConstView rstd,
                                   View dx, View dweight) const {
  dispatch_floating(x.dtype, "rms_norm_backward", [&]<typename T>() {
    using A = Accum<T>;
    const int64_t n = x.row_length(), rows = x.rows(), piece = rows_per_chunk(rows);
    const int64_t chunks = (rows + piece - 1) / piece;
    const T* w = weight.as<T>();
    const cpu::Scratch<A> partial(chunks * n);
    cpu::parallel_pieces(rows, piece, n * kCost, [&](int64_t chunk, int64_t begin, int64_t end) {
      A* dw = partial.data() + chunk * n;
      std::fill_n(dw, n, A(0));
      for (int64_t row = begin; row < end; ++row) {
        const T* g = grad.as<T>() + row * n;
        const T* from = x.as<T>() + row * n;
        T* to = dx.as<T>() + row * n;
        const A r = rstd.as<A>()[row];
        const A projection =
            lane_sum<A>(
                n, [=](int64_t i) { return widen(g[i]) * widen(w[i]) * (widen(from[i]) * r); }) /
            A(n);
#pragma omp simd
        for (int64_t i = 0; i < n; ++i) {
          const A gradient = widen(g[i]), xhat = widen(from[i]) * r;
          dw[i] += gradient * xhat;
          to[i] = narrow<T>(r * (gradient * widen(w[i]) - xhat * projection));
        }
      }
    });
    add_chunks(partial.data(), chunks, n, n, dweight.as<T>());
  });
}

}  // namespace tapir::TAPIR_ISA
