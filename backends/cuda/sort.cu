// Stable sort of the last axis by counting: an element's place is the number of those that go
// before it. Quadratic in the length of a row, without a second buffer or a second pass.
#include "backends/cuda/device.h"

namespace tapir::cuda {
namespace {

// An order of all values, in which NaN is the largest.
template <typename A>
__device__ bool less(A a, A b) {
  return a < b || (b != b && a == a);
}

template <typename T>
__global__ void sort_kernel(const T* x, int64_t rows, int64_t length, bool descending, T* values,
                            int32_t* index) {
  const int64_t item = thread_item();
  if (item >= rows * length) return;
  const int64_t row = item / length, i = item % length;
  const T* from = x + row * length;
  const auto value = widen(from[i]);
  int64_t place = 0;
  for (int64_t j = 0; j < length; ++j) {
    const auto other = widen(from[j]);
    const bool before = descending ? less(value, other) : less(other, value);
    const bool after = descending ? less(other, value) : less(value, other);
    place += before || (!after && j < i);
  }
  values[row * length + place] = from[i];
  index[row * length + place] = static_cast<int32_t>(i);
}

}  // namespace

void CudaBackend::sort(ConstView x, bool descending, View values, View index) const {
  if (x.numel() == 0) return;
  const auto run = [&]<typename T>() {
    launch(sort_kernel<T>, grid_for(x.numel()), x.as<T>(), x.rows(), x.row_length(), descending,
           values.as<T>(), index.as<int32_t>());
  };
  if (x.dtype == DType::i32) return run.template operator()<int32_t>();
  dispatch_floating(x.dtype, "sort", run);
}

}  // namespace tapir::cuda
