// How elementwise kernels see strided views of any dtype: as short dense runs of the type A that
// they compute in (float, double, int32_t). A run that is dense and of that type already is used
// in place; any other goes through a small buffer. So a kernel is one plain loop per function and
// A, and all that strides and dtypes need is compiled once.
#pragma once

#include <algorithm>
#include <array>

#include "backends/cpu/lanes.h"
#include "backends/cpu/strided_loop.h"

namespace tapir::TAPIR_ISA {

inline constexpr int64_t kBufferedRun = 1024;  // elements; a few such buffers stay in the L1 cache

// n elements, `step` apart, to or from a dense buffer.
template <typename A>
void load_run(DType dtype, const void* data, int64_t offset, int64_t step, int64_t n, A* buffer);
template <typename A>
void store_run(DType dtype, const A* buffer, int64_t n, void* data, int64_t offset, int64_t step);

extern template void load_run(DType, const void*, int64_t, int64_t, int64_t, float*);
extern template void load_run(DType, const void*, int64_t, int64_t, int64_t, double*);
extern template void load_run(DType, const void*, int64_t, int64_t, int64_t, int32_t*);
extern template void store_run(DType, const float*, int64_t, void*, int64_t, int64_t);
extern template void store_run(DType, const double*, int64_t, void*, int64_t, int64_t);
extern template void store_run(DType, const int32_t*, int64_t, void*, int64_t, int64_t);

// The parameter p of a unary function, and n dense elements of each input and output.
template <typename A, int kIn, int kOut>
using RunKernel = void (*)(A p, const std::array<const A*, kIn>& in,
                           const std::array<A*, kOut>& out, int64_t n);

// Runs `kernel` over views of one shape. `cost` is that of one element, for parallel_for. An output
// may be the same view as an input.
template <typename A, int kIn, int kOut>
void run_elementwise(int64_t cost, A p, const std::array<ConstView, kIn>& in,
                     const std::array<View, kOut>& out, RunKernel<A, kIn, kOut> kernel) {
  std::array<Strides, kIn + kOut> strides;
  for (int i = 0; i < kIn; ++i) strides[i] = in[i].strides;
  for (int i = 0; i < kOut; ++i) strides[kIn + i] = out[i].strides;
  const StridedLoop<kIn + kOut> loop(out[0].shape, strides);
  const auto& step = loop.inner_steps;
  std::array<bool, kIn + kOut> in_place;
  for (int i = 0; i < kIn; ++i) in_place[i] = in[i].dtype == dtype_of<A> && step[i] == 1;
  for (int i = 0; i < kOut; ++i) {
    in_place[kIn + i] = out[i].dtype == dtype_of<A> && step[kIn + i] == 1;
  }
  const bool buffered = std::find(in_place.begin(), in_place.end(), false) != in_place.end();
  loop.run(cost, [&](const auto& at, int64_t length) {
    A buffers[kIn + kOut][kBufferedRun];
    const int64_t piece = buffered ? kBufferedRun : length;
    for (int64_t begin = 0; begin < length; begin += piece) {
      const int64_t n = std::min(piece, length - begin);
      std::array<const A*, kIn> from;
      std::array<A*, kOut> to;
      for (int i = 0; i < kIn; ++i) {
        const int64_t offset = at[i] + begin * step[i];
        from[i] = in_place[i] ? in[i].template as<A>() + offset : buffers[i];
        if (!in_place[i]) load_run(in[i].dtype, in[i].data, offset, step[i], n, buffers[i]);
      }
      for (int i = 0; i < kOut; ++i) {
        to[i] =
            in_place[kIn + i] ? out[i].template as<A>() + at[kIn + i] + begin : buffers[kIn + i];
      }
      kernel(p, from, to, n);
      for (int i = 0; i < kOut; ++i) {
        const int view = kIn + i;
        if (in_place[view]) continue;
        store_run(out[i].dtype, to[i], n, out[i].data, at[view] + begin * step[view], step[view]);
      }
    }
  });
}

}  // namespace tapir::TAPIR_ISA
