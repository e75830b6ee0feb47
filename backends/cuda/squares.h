// Products of tiles without tensor cores, for every dtype and size. A block of 16 x 16 threads has
// a tile of a result in its registers, a small square of it in each thread, and takes the terms of
// its sums through shared memory, some at a time. Source: Volkov and Demmel 2008, "Benchmarking
// GPUs to tune dense linear algebra".
#pragma once

#include "backends/cuda/device.h"

namespace tapir::cuda {

inline constexpr int kSide = 16;  // threads along each side of a tile
inline constexpr int kSquareThreads = kSide * kSide;
inline constexpr int kTerms = 16;  // that are in shared memory at a time

// Rows and columns of a thread's square and of a block's tile, as registers and shared memory
// allow.
template <typename A>
inline constexpr int kSquareSize = sizeof(A) == 4 ? 4 : 2;
template <typename A>
inline constexpr int kSquareTile = kSide* kSquareSize<A>;

// Element (i, j) of a thread's square is element (square_row<A>(i), square_column<A>(j)) of the
// tile.
template <typename A>
using Square = A[kSquareSize<A>][kSquareSize<A>];

template <typename A>
__device__ int square_row(int i) {
  return static_cast<int>(threadIdx.x) / kSide * kSquareSize<A> + i;
}
template <typename A>
__device__ int square_column(int j) {
  return static_cast<int>(threadIdx.x) % kSide * kSquareSize<A> + j;
}

// Combines the values of the threads that share rows of the tile, which are half of a warp.
template <typename A, typename Combine>
__device__ A reduce_along_row(A value, Combine combine) {
  return warp_reduce<kSide>(value, combine);
}

// A matrix whose rows are dense. Outside of it there are zeros.
template <typename T>
struct Matrix {
  const T* data;
  int64_t step, rows, columns;

  __device__ Accum<T> at(int64_t row, int64_t column) const {
    return row < rows && column < columns ? widen(data[row * step + column]) : Accum<T>(0);
  }
};

// Both sides of a product in shared memory, for each of its terms, and weights that one side is
// made of. The padding spreads what is written in columns over the banks.
template <typename A>
struct alignas(16) SquareBuffers {
  using Line = A[kSquareTile<A> + 4];

  Line left[kTerms], right[kTerms], weights[kSquareTile<A>];
};

// sums += the products of kTerms terms.
template <typename A>
__device__ void add_terms(const typename SquareBuffers<A>::Line* left,
                          const typename SquareBuffers<A>::Line* right, Square<A>& sums) {
  constexpr int kSize = kSquareSize<A>;
  TAPIR_UNROLL
  for (int term = 0; term < kTerms; ++term) {
    A a[kSize], b[kSize];
    TAPIR_UNROLL
    for (int i = 0; i < kSize; ++i) {
      a[i] = left[term][square_row<A>(i)];
      b[i] = right[term][square_column<A>(i)];
    }
    TAPIR_UNROLL
    for (int i = 0; i < kSize; ++i) {
      TAPIR_UNROLL
      for (int j = 0; j < kSize; ++j) sums[i][j] += a[i] * b[j];
    }
  }
}

// to[term][i] = the element of row first + i in column `column` + term.
template <typename T>
__device__ void load_columns(const Matrix<T>& from, int64_t first, int64_t column,
                             typename SquareBuffers<Accum<T>>::Line* to) {
  for (int n = static_cast<int>(threadIdx.x); n < kTerms * kSquareTile<Accum<T>>;
       n += kSquareThreads)
    to[n % kTerms][n / kTerms] = from.at(first + n / kTerms, column + n % kTerms);
}

// to[term][i] = the element of row first + term in column `column` + i.
template <typename T>
__device__ void load_rows(const Matrix<T>& from, int64_t first, int64_t column,
                          typename SquareBuffers<Accum<T>>::Line* to) {
  constexpr int kTile = kSquareTile<Accum<T>>;
  for (int n = static_cast<int>(threadIdx.x); n < kTerms * kTile; n += kSquareThreads)
    to[n / kTile][n % kTile] = from.at(first + n / kTile, column + n % kTile);
}

// products = a tile of left right^T, from row `left_first` of the one and `right_first` of the
// other.
template <typename T>
__device__ void multiply_rows(const Matrix<T>& left, int64_t left_first, const Matrix<T>& right,
                              int64_t right_first, SquareBuffers<Accum<T>>& shared,
                              Square<Accum<T>>& products) {
  TAPIR_UNROLL
  for (auto& line : products) {
    TAPIR_UNROLL
    for (auto& product : line) product = 0;
  }
  for (int64_t column = 0; column < left.columns; column += kTerms) {
    load_columns(left, left_first, column, shared.left);
    load_columns(right, right_first, column, shared.right);
    __syncthreads();
    add_terms<Accum<T>>(shared.left, shared.right, products);
    __syncthreads();
  }
}

// sums += a tile of weights times as many rows of `right` from `first` on, of which it takes the
// columns from `column` on.
template <typename T>
__device__ void add_weighted_rows(const Square<Accum<T>>& weights, const Matrix<T>& right,
                                  int64_t first, int64_t column, SquareBuffers<Accum<T>>& shared,
                                  Square<Accum<T>>& sums) {
  using A = Accum<T>;
  TAPIR_UNROLL
  for (int i = 0; i < kSquareSize<A>; ++i) {
    TAPIR_UNROLL
    for (int j = 0; j < kSquareSize<A>; ++j)
      shared.weights[square_column<A>(j)][square_row<A>(i)] = weights[i][j];
  }
  for (int term = 0; term < kSquareTile<A> && first + term < right.rows; term += kTerms) {
    load_rows(right, first + term, column, shared.right);
    __syncthreads();
    add_terms<A>(shared.weights + term, shared.right, sums);
    __syncthreads();
  }
}

// Writes the elements of a tile that exist to a dense matrix, from (row, column) on.
template <typename T>
__device__ void store_square(const Square<Accum<T>>& values, int64_t row, int64_t column,
                             int64_t rows, int64_t columns, T* out) {
  TAPIR_UNROLL
  for (int i = 0; i < kSquareSize<Accum<T>>; ++i) {
    TAPIR_UNROLL
    for (int j = 0; j < kSquareSize<Accum<T>>; ++j) {
      const int64_t r = row + square_row<Accum<T>>(i), c = column + square_column<Accum<T>>(j);
      if (r < rows && c < columns) out[r * columns + c] = narrow<T>(values[i][j]);
    }
  }
}

// The tile of this block of squares_for(): which of the heads, and its first row there.
struct HeadTile {
  int64_t head, first;

  __device__ HeadTile(int64_t rows, int tile_rows) {
    const int64_t tiles = (rows + tile_rows - 1) / tile_rows;
    head = blockIdx.x / tiles;
    first = blockIdx.x % tiles * tile_rows;
  }
};

// One block for each tile of `rows` rows in each of `heads` heads.
template <typename A>
Grid squares_for(int64_t rows, int64_t heads) {
  return {dim3(blocks_for(rows, kSquareTile<A>) * static_cast<unsigned>(heads)),
          dim3(kSquareThreads)};
}

}  // namespace tapir::cuda
