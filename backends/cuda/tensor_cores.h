// Tiles of 16-bit floats in shared memory, and their products on tensor cores. A warp multiplies
// fragments: pieces of 16 x 16 whose elements are spread over its lanes. With g = lane / 4 and
// t = lane % 4, an accumulator of 16 x 8 holds in a lane the elements (g, 2t), (g, 2t + 1),
// (g + 8, 2t) and (g + 8, 2t + 1).
#pragma once

#include "backends/cuda/attention.h"
#include "backends/cuda/device.h"

namespace tapir::cuda {

inline constexpr int kTileThreads = 128;                  // four warps
inline constexpr int kTileRows = 16 * kTileThreads / 32;  // rows that a block owns, 16 to a warp

using Fragment = uint32_t[4];
using Accumulator = float[4];

__device__ inline int row_in_fragment() {
  return lane_index() / 4;
}
__device__ inline int column_in_fragment() {
  return lane_index() % 4 * 2;
}

// Rows of kWidth elements at a distance that spreads them over the banks of shared memory.
template <typename T, int kWidth>
struct Tile {
  static constexpr int kStride = kWidth + 8;
  static constexpr size_t bytes(int rows) {
    return sizeof(T) * static_cast<size_t>(rows * kStride);
  }

  T* data;

  // Starts copying `rows` rows from row `first` on; rows from `limit` on and columns from `width`
  // on become zeros.
  __device__ void load(const T* source, int64_t step, int64_t first, int64_t limit, int rows,
                       int64_t width) const {
    constexpr int kChunks = kWidth / 8;
    for (int i = static_cast<int>(threadIdx.x); i < rows * kChunks; i += kTileThreads) {
      const int row = i / kChunks, column = i % kChunks * 8;
      const bool valid = first + row < limit && column < width;
      cp_async_16(data + row * kStride + column,
                  source + (valid ? (first + row) * step + column : 0), valid);
    }
  }

  // The 16 x 16 piece at (row, column) as a left operand.
  __device__ void left(int row, int column, Fragment& fragment) const {
    const int lane = lane_index();
    ldmatrix_x4(fragment, data + (row + lane % 16) * kStride + column + lane / 16 * 8);
  }

  // The transpose of the 16 x 16 piece at (row, column) as two right operands of 16 x 8: tile row
  // n is column n of the product.
  __device__ void right_transposed(int row, int column, Fragment& fragment) const {
    const int lane = lane_index();
    ldmatrix_x4(fragment,
                data + (row + lane % 8 + lane / 16 * 8) * kStride + column + lane / 8 % 2 * 8);
  }

  // The piece itself as two right operands: tile column n is column n of the product.
  __device__ void right(int row, int column, Fragment& fragment) const {
    const int lane = lane_index();
    ldmatrix_x4_trans(fragment, data + (row + lane % 16) * kStride + column + lane / 16 * 8);
  }
};

template <typename T>
__device__ void multiply_add(Accumulator& sum, const Fragment& left, uint32_t right_low,
                             uint32_t right_high) {
  const uint32_t right[2] = {right_low, right_high};
  if constexpr (std::is_same_v<T, bf16>) {
    mma_bf16(sum, left, right);
  } else {
    mma_f16(sum, left, right);
  }
}

// sums[n] += left * right for the two columns of fragments that `right` holds.
template <typename T>
__device__ void multiply_add_pair(Accumulator* sums, const Fragment& left, const Fragment& right) {
  multiply_add<T>(sums[0], left, right[0], right[1]);
  multiply_add<T>(sums[1], left, right[2], right[3]);
}

template <typename T>
__device__ uint32_t pack(float low, float high) {
  return static_cast<uint32_t>(narrow<T>(low).bits) | static_cast<uint32_t>(narrow<T>(high).bits)
                                                          << 16;
}

// Two accumulators side by side, rounded, as a left operand of 16 x 16.
template <typename T>
__device__ void as_left(const Accumulator* pair, Fragment& fragment) {
  fragment[0] = pack<T>(pair[0][0], pair[0][1]);
  fragment[1] = pack<T>(pair[0][2], pair[0][3]);
  fragment[2] = pack<T>(pair[1][0], pair[1][1]);
  fragment[3] = pack<T>(pair[1][2], pair[1][3]);
}

// sums [16, 8 kColumns] += rows `row` to row + 15 of `left` times the transposed rows of `right`.
template <typename T, int kWidth, int kColumns>
__device__ void multiply_transposed(const Tile<T, kWidth>& left, int row,
                                    const Tile<T, kWidth>& right, Accumulator (&sums)[kColumns]) {
  TAPIR_UNROLL
  for (int k = 0; k < kWidth; k += 16) {
    Fragment a, b;
    left.left(row, k, a);
    TAPIR_UNROLL
    for (int n = 0; n < kColumns; n += 2) {
      right.right_transposed(8 * n, k, b);
      multiply_add_pair<T>(&sums[n], a, b);
    }
  }
}

// sums [16, kWidth] += weights [16, 8 kRows] times the rows of `right`, weights rounded to T.
template <typename T, int kWidth, int kRows>
__device__ void multiply_weights(const Accumulator (&weights)[kRows], const Tile<T, kWidth>& right,
                                 Accumulator (&sums)[kWidth / 8]) {
  TAPIR_UNROLL
  for (int k = 0; k < kRows; k += 2) {
    Fragment a, b;
    as_left<T>(&weights[k], a);
    TAPIR_UNROLL
    for (int n = 0; n < kWidth / 8; n += 2) {
      right.right(8 * k, 8 * n, b);
      multiply_add_pair<T>(&sums[n], a, b);
    }
  }
}

template <int kColumns>
__device__ void clear(Accumulator (&sums)[kColumns]) {
  TAPIR_UNROLL
  for (int n = 0; n < kColumns; ++n) {
    TAPIR_UNROLL
    for (int i = 0; i < 4; ++i) sums[n][i] = 0;
  }
}

// Writes 16 x kWidth sums to rows from `first` on of a dense matrix with `width` columns, leaving
// out rows from `limit` on. Row g is multiplied by factors[0] and row g + 8 by factors[1].
template <typename T, int kWidth>
__device__ void store_rows(const Accumulator (&sums)[kWidth / 8], const float (&factors)[2],
                           int64_t first, int64_t limit, int64_t width, T* out) {
  TAPIR_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int64_t row = first + row_in_fragment() + 8 * half;
    if (row >= limit) continue;
    TAPIR_UNROLL
    for (int n = 0; n < kWidth / 8; ++n) {
      const int64_t column = 8 * n + column_in_fragment();
      if (column >= width) continue;
      const uint32_t pair =
          pack<T>(sums[n][2 * half] * factors[half], sums[n][2 * half + 1] * factors[half]);
      *reinterpret_cast<uint32_t*>(out + row * width + column) = pair;
    }
  }
}

// How many rows of the other side a block looks at in a turn: fewer for wide rows, whose sums take
// most of the registers.
template <int kWidth>
inline constexpr int kTurnRows = kWidth <= 64 ? 64 : 32;

// Whether the tensor-core kernels can take a view: 16-byte pieces everywhere.
inline bool fits_tiles(ConstView x) {
  bool fits = reinterpret_cast<uintptr_t>(x.data) % 16 == 0 && x.size(3) % 8 == 0;
  for (int axis = 0; axis < 3; ++axis)
    fits = fits && (x.stride(axis) % 8 == 0 || x.size(axis) == 1);
  return fits;
}

inline bool fits_tensor_cores(ConstView q, ConstView k, ConstView v) {
  constexpr int64_t kMostHeads = 65535;  // the largest second dimension of a grid
  return (q.dtype == DType::bf16 || q.dtype == DType::f16) && q.size(3) == v.size(3) &&
         q.size(3) > 0 && q.size(3) <= 128 && q.size(0) * q.size(1) <= kMostHeads &&
         fits_tiles(q) && fits_tiles(k) && fits_tiles(v);
}

// Calls `body.template operator()<T, kWidth>()` for the dtype and the next width with a kernel.
template <typename Body>
void dispatch_tiles(DType dtype, int64_t width, Body&& body) {
  const auto with_type = [&]<typename T>() {
    if (width <= 32) return body.template operator()<T, 32>();
    if (width <= 64) return body.template operator()<T, 64>();
    body.template operator()<T, 128>();
  };
  if (dtype == DType::bf16) return with_type.template operator()<bf16>();
  with_type.template operator()<f16>();
}

// A grid of one block per kTileRows rows and head.
inline Grid tiles_for(int64_t rows, int64_t heads, size_t shared_bytes) {
  return {dim3(blocks_for(rows, kTileRows), static_cast<unsigned>(heads)), dim3(kTileThreads),
          shared_bytes};
}

inline constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.693147180559945309f;

}  // namespace tapir::cuda
