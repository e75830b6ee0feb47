// The maximum of a row and the sum of the exponentials below it, in one pass over memory.
#pragma once

#include "backends/cuda/device.h"

namespace tapir::cuda {

// sum = the sum of exp(x - largest); meaningless for a row of -inf. A NaN shows in the sum.
template <typename A>
struct RowStatistics {
  A largest, sum;
};

// For a block that owns a row; every thread gets the result. Each thread keeps a maximum and a sum
// relative to it, which is rescaled when the maximum grows. Source: Milakov and Gimelshein 2018,
// "Online normalizer calculation for softmax".
template <typename T>
__device__ RowStatistics<Accum<T>> row_statistics(const T* x, int64_t length) {
  using A = Accum<T>;
  A largest = -infinity<A>(), sum = 0;
  for (int64_t i = threadIdx.x; i < length; i += blockDim.x) {
    const A value = widen(x[i]);
    if (value > largest) {
      sum = sum * fast_exp(largest - value) + A(1);
      largest = value;
    } else if (value != -infinity<A>()) {
      sum += fast_exp(value - largest);
    }
  }
  const A row_largest = block_max(largest);
  // A thread that saw no finite number adds nothing, unless it saw a NaN.
  const A factor = largest == row_largest ? A(1) : fast_exp(largest - row_largest);
  return {row_largest, block_sum(sum * factor)};
}

}  // namespace tapir::cuda
