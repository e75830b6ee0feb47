// The only header that kernel sources include: the device's language, element access, sums over
// warps and blocks, and launches.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "backends/compressed_matrix.h"
#include "backends/cuda/compiler.h"
#include "backends/cuda/context.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/walk.h"
#include "backends/random.h"

namespace tapir::cuda {

inline constexpr int kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

// An element as the type that it is computed with. Booleans are bytes.
__device__ inline double widen(double value) {
  return value;
}
__device__ inline float widen(float value) {
  return value;
}
__device__ inline float widen(bf16 value) {
  return __uint_as_float(static_cast<uint32_t>(value.bits) << 16);
}
__device__ inline float widen(f16 value) {
  __half_raw raw;
  raw.x = value.bits;
  return __half2float(__half(raw));
}
__device__ inline int32_t widen(int32_t value) {
  return value;
}
__device__ inline int64_t widen(int64_t value) {
  return value;
}
__device__ inline uint8_t widen(uint8_t value) {
  return value;
}

template <typename T>
__device__ T narrow(Accum<T> value) {
  if constexpr (std::is_same_v<T, bf16>) {
    bf16 result;
    result.bits = static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(value)).x;
    return result;
  } else if constexpr (std::is_same_v<T, f16>) {
    f16 result;
    result.bits = static_cast<__half_raw>(__float2half_rn(value)).x;
    return result;
  } else {
    return value;
  }
}

// exp with an error of 2 units in the last place, for softmax and losses.
__device__ inline float fast_exp(float x) {
  return expf(x);
}
__device__ inline double fast_exp(double x) {
  return exp(x);
}

template <typename A>
__device__ constexpr A infinity() {
  return std::numeric_limits<A>::infinity();
}

struct Plus {
  template <typename A>
  __device__ A operator()(A a, A b) const {
    return a + b;
  }
};
struct Largest {
  template <typename A>
  __device__ A operator()(A a, A b) const {
    return a > b ? a : b;
  }
};

// Combines the values of each Lanes neighbouring lanes of a warp, by default of all; every lane
// gets the result. The tree is fixed.
template <int Lanes = kWarp, typename A, typename Combine>
__device__ A warp_reduce(A value, Combine combine) {
  TAPIR_UNROLL
  for (int distance = Lanes / 2; distance > 0; distance /= 2)
    value = combine(value, __shfl_xor_sync(kAllLanes, value, distance));
  return value;
}

template <typename A>
__device__ A warp_sum(A value) {
  return warp_reduce(value, Plus());
}

// The same for all threads of a block, whose number is a multiple of 32. `start` changes nothing
// when combined.
template <typename A, typename Combine>
__device__ A block_reduce(A value, Combine combine, A start) {
  TAPIR_SHARED(A, partial, [kWarp]);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int warps = blockDim.x / kWarp;
  value = warp_reduce(value, combine);
  if (warps == 1) return value;
  __syncthreads();  // whoever still reads the results of the call before
  if (lane == 0) partial[warp] = value;
  __syncthreads();
  return warp_reduce(lane < warps ? partial[lane] : start, combine);
}

template <typename A>
__device__ A block_sum(A value) {
  return block_reduce(value, Plus(), A(0));
}

template <typename A>
__device__ A block_max(A value) {
  return block_reduce(value, Largest(), -infinity<A>());
}

// Blocks, threads of a block, and bytes of dynamic shared memory.
struct Grid {
  dim3 blocks, threads;
  size_t shared_bytes = 0;
};

template <typename... Parameters, typename... Arguments>
void launch(void (*kernel)(Parameters...), const Grid& grid, const Arguments&... arguments) {
  check(launch_kernel(kernel, grid.blocks, grid.threads, grid.shared_bytes, context().stream,
                      arguments...),
        "a kernel launch");
}

inline unsigned blocks_for(int64_t items, int64_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

// One thread per item, for `items` > 0.
inline Grid grid_for(int64_t items) {
  const int64_t threads = items >= 256 ? 256 : (items + kWarp - 1) / kWarp * kWarp;
  return {dim3(blocks_for(items, threads)), dim3(static_cast<unsigned>(threads))};
}

// One warp per item: at most eight warps to a block.
inline Grid warps_for(int64_t items) {
  const int64_t warps = items >= 8 ? 8 : items;
  return {dim3(blocks_for(items, warps)), dim3(static_cast<unsigned>(warps * kWarp))};
}

// One block per row of `length` elements.
inline Grid rows_for(int64_t rows, int64_t length) {
  const unsigned threads =
      length <= 128 ? 32 : (length <= 1024 ? 128 : (length <= 8192 ? 256 : 512));
  return {dim3(static_cast<unsigned>(rows)), dim3(threads)};
}

// This thread's item of grid_for(), and this warp's of warps_for().
__device__ inline int64_t thread_item() {
  return static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ inline int64_t warp_item() {
  return thread_item() / kWarp;
}
__device__ inline int lane_index() {
  return static_cast<int>(threadIdx.x) % kWarp;
}

template <typename Function, int kViews>
__global__ void each_element_kernel(const __grid_constant__ Function function,
                                    const __grid_constant__ Walk<kViews> walk) {
  const int64_t i = thread_item();
  if (i >= walk.count) return;
  int64_t at[kViews];
  walk.locate(i, at);
  function(at);
}

// Calls function(offsets of the element in each view) for every element of views of one shape.
template <typename Function, int kViews>
void each_element(const Function& function, const Walk<kViews>& walk) {
  if (walk.count == 0) return;
  launch(each_element_kernel<Function, kViews>, grid_for(walk.count), function, walk);
}

// out[c] = the sum over rows of partial[row * columns + c], in a fixed order. `partial` is f64 for
// out of f64 and else f32.
void sum_partial_rows(const void* partial, int64_t rows, int64_t columns, View out);

}  // namespace tapir::cuda
