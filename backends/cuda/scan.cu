// Scans of the last axis (argmax, running sums) and counts of bad elements.
#include "backends/cuda/device.h"

namespace tapir::cuda {
namespace {

// Whether b at position j goes before a at position i: a NaN is larger than any number, and of
// equal elements the first counts.
template <typename A>
__device__ bool is_larger(A b, int64_t j, A a, int64_t i) {
  const bool nan_a = a != a, nan_b = b != b;
  if (nan_a != nan_b) return nan_b;
  if (!nan_a && a != b) return b > a;
  return j < i;
}

template <typename T>
__global__ void argmax_kernel(const T* x, int64_t rows, int64_t length, int32_t* index) {
  const int64_t row = warp_item();
  if (row >= rows) return;
  const T* from = x + row * length;
  // Lanes beyond the row start at its first element, which is always a candidate.
  int64_t best = lane_index() < length ? lane_index() : 0;
  auto value = widen(from[best]);
  for (int64_t i = lane_index() + kWarp; i < length; i += kWarp) {
    const auto candidate = widen(from[i]);
    if (is_larger(candidate, i, value, best)) {
      value = candidate;
      best = i;
    }
  }
  for (int distance = kWarp / 2; distance > 0; distance /= 2) {
    const auto other = __shfl_xor_sync(kAllLanes, value, distance);
    const int64_t at = __shfl_xor_sync(kAllLanes, best, distance);
    if (is_larger(other, at, value, best)) {
      value = other;
      best = at;
    }
  }
  if (lane_index() == 0) index[row] = static_cast<int32_t>(best);
}

// A warp takes 32 elements at a time; running sums are kept in f64 or 64-bit integers.
template <typename T>
__global__ void cumsum_kernel(const T* x, int64_t rows, int64_t length, bool reverse, T* out) {
  using Wide = std::conditional_t<std::is_same_v<T, int32_t>, int64_t, double>;
  const int64_t row = warp_item();
  if (row >= rows) return;
  const T* from = x + row * length;
  T* to = out + row * length;
  Wide carried = 0;
  for (int64_t begin = 0; begin < length; begin += kWarp) {
    const int64_t i = begin + lane_index();
    const int64_t at = reverse ? length - 1 - i : i;
    Wide sum = i < length ? static_cast<Wide>(widen(from[at])) : Wide(0);
    for (int distance = 1; distance < kWarp; distance *= 2) {
      const Wide before = __shfl_up_sync(kAllLanes, sum, static_cast<unsigned>(distance));
      if (lane_index() >= distance) sum += before;
    }
    sum += carried;
    if (i < length) to[at] = narrow<T>(static_cast<Accum<T>>(sum));
    carried = __shfl_sync(kAllLanes, sum, kWarp - 1);
  }
}

template <typename T>
struct CountNonfinite {
  const T* x;
  unsigned long long* count;
  __device__ void operator()(const int64_t (&at)[1]) const {
    const auto value = widen(x[at[0]]);
    if (value - value != 0) atomicAdd(count, 1ull);  // inf - inf and NaN - NaN are NaN
  }
};

}  // namespace

void CudaBackend::argmax(ConstView x, View index) const {
  const int64_t rows = index.numel(), length = x.row_length();
  if (rows == 0 || length == 0) return fill(0, index);
  const auto run = [&]<typename T>() {
    launch(argmax_kernel<T>, warps_for(rows), x.as<T>(), rows, length, index.as<int32_t>());
  };
  if (x.dtype == DType::i32) return run.template operator()<int32_t>();
  dispatch_floating(x.dtype, "argmax", run);
}

void CudaBackend::cumsum(ConstView x, bool reverse, View out) const {
  const int64_t rows = x.rows(), length = x.row_length();
  if (rows == 0 || length == 0) return;
  const auto run = [&]<typename T>() {
    launch(cumsum_kernel<T>, warps_for(rows), x.as<T>(), rows, length, reverse, out.as<T>());
  };
  if (x.dtype == DType::i32) return run.template operator()<int32_t>();
  dispatch_floating(x.dtype, "cumsum", run);
}

int64_t CudaBackend::count_nonfinite(ConstView x) const {
  if (!is_floating(x.dtype)) return 0;
  const Scratch counter(sizeof(unsigned long long));
  auto* count = counter.as<unsigned long long>();
  check(cudaMemsetAsync(count, 0, sizeof(*count), context().stream), "cudaMemsetAsync");
  dispatch_floating(x.dtype, "count_nonfinite", [&]<typename T>() {
    each_element(CountNonfinite<T>{x.as<T>(), count}, Walk<1>(x.shape, {x.strides}));
  });
  unsigned long long found = 0;
  copy_to_host(count, &found, sizeof(found));
  return static_cast<int64_t>(found);
}

}  // namespace tapir::cuda
