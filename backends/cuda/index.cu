// Indexing along the last axis.
#include "backends/cuda/device.h"

namespace tapir::cuda {
namespace {

// Elements of one size are moved alike, whatever they mean.
template <typename Bits>
__global__ void gather_kernel(const Bits* x, const int32_t* index, int64_t count, int64_t length,
                              int64_t x_length, Bits* out) {
  const int64_t i = thread_item();
  if (i < count) out[i] = x[i / length * x_length + index[i]];
}

// A thread per element of the output looks through the row's indices, so that additions have an
// order and need no atomics.
template <typename T>
__global__ void scatter_add_kernel(const int32_t* index, const T* source, int64_t count,
                                   int64_t length, int64_t out_length, T* out) {
  const int64_t i = thread_item();
  if (i >= count) return;
  const int64_t row = i / out_length, column = i % out_length;
  const int32_t* at = index + row * length;
  Accum<T> sum = widen(out[i]);
  for (int64_t j = 0; j < length; ++j) {
    if (at[j] == column) sum += widen(source[row * length + j]);
  }
  out[i] = narrow<T>(sum);
}

__global__ void find_out_of_range_kernel(const int32_t* index, int64_t count, int64_t bound,
                                         unsigned long long* first) {
  const int64_t i = thread_item();
  if (i < count && (index[i] < 0 || index[i] >= bound))
    atomicMin(first, static_cast<unsigned long long>(i));
}

}  // namespace

void CudaBackend::gather(ConstView x, ConstView index, View out) const {
  const int64_t count = index.numel();
  if (count == 0) return;
  const auto run = [&]<typename Bits>() {
    launch(gather_kernel<Bits>, grid_for(count), x.as<Bits>(), index.as<int32_t>(), count,
           index.row_length(), x.row_length(), out.as<Bits>());
  };
  switch (size_of(x.dtype)) {
    case 8:
      return run.template operator()<uint64_t>();
    case 4:
      return run.template operator()<uint32_t>();
    case 2:
      return run.template operator()<uint16_t>();
    default:
      return run.template operator()<uint8_t>();
  }
}

void CudaBackend::scatter_add(ConstView index, ConstView source, View out) const {
  const int64_t count = out.numel();
  if (count == 0 || index.numel() == 0) return;
  dispatch_floating(source.dtype, "scatter_add", [&]<typename T>() {
    launch(scatter_add_kernel<T>, grid_for(count), index.as<int32_t>(), source.as<T>(), count,
           index.row_length(), out.row_length(), out.as<T>());
  });
}

int64_t CudaBackend::find_out_of_range(ConstView index, int64_t bound) const {
  const int64_t count = index.numel();
  if (count == 0) return -1;
  const Scratch scratch(sizeof(unsigned long long));
  auto* first = scratch.as<unsigned long long>();
  check(cudaMemsetAsync(first, 0xff, sizeof(*first), context().stream), "cudaMemsetAsync");
  launch(find_out_of_range_kernel, grid_for(count), index.as<int32_t>(), count, bound, first);
  unsigned long long found = 0;
  copy_to_host(first, &found, sizeof(found));
  return static_cast<int64_t>(found);  // all bits set: none, -1
}

}  // namespace tapir::cuda
