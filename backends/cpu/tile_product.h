// The innermost kernel of matrix products: one tile of the result, kept in registers.
#pragma once

#include "backends/cpu/vector.h"

namespace tapir::TAPIR_ISA {

// A tile of kTileRows by kTileVectors vectors fills the registers, and needs few loads for its many
// multiplications: of the 32 registers of AVX-512 28 hold sums, of the 16 of AVX2 12 do.
#ifdef __AVX512F__
inline constexpr int kTileRows = 14;
#else
inline constexpr int kTileRows = 6;
#endif
inline constexpr int kTileVectors = 2;
inline constexpr int64_t kTileColumns = kTileVectors * FloatVector::kLanes;

// Where a tile goes: c[i * ld + j] = alpha * sum, or += if accumulate, for the first `columns` j.
struct Tile {
  float* c;
  int64_t ld;
  int64_t columns;
  float alpha;
  bool accumulate;
};

// The part of an operand that a tile needs: for every l, Rows or Vectors * kLanes elements that
// stand at data + l * step.
struct Strip {
  const float* data;
  int64_t step;
};

// The tile whose element (i, j) is the sum over l < k of a(l)[i] * b(l)[j].
template <int Rows, int Vectors>
void tile_product(int64_t k, const Strip& left, const Strip& right, const Tile& tile) {
  constexpr int kLanes = FloatVector::kLanes;
  const float* a = left.data;
  const float* b = right.data;
  const int64_t a_step = left.step, b_step = right.step;
  FloatVector sum[Rows][Vectors];
  unroll<Rows>([&](auto i) { unroll<Vectors>([&](auto v) { sum[i][v] = FloatVector::zero(); }); });
  for (int64_t l = 0; l < k; ++l) {
    FloatVector y[Vectors];
    unroll<Vectors>([&](auto v) { y[v] = FloatVector::load(b + v * kLanes); });
    unroll<Rows>([&](auto i) {
      const FloatVector x = FloatVector::repeat(a[i]);
      unroll<Vectors>([&](auto v) { sum[i][v] = multiply_add(x, y[v], sum[i][v]); });
    });
    a += a_step;
    b += b_step;
  }
  const FloatVector alpha = FloatVector::repeat(tile.alpha);
  const int64_t last = tile.columns - (Vectors - 1) * kLanes;  // in the last vector
  unroll<Rows>([&](auto i) {
    unroll<Vectors>([&](auto v) {
      float* c = tile.c + i * tile.ld + v * kLanes;
      const bool whole = v + 1 < Vectors || last == kLanes;
      FloatVector value = alpha * sum[i][v];
      if (tile.accumulate)
        value = value + (whole ? FloatVector::load(c) : FloatVector::load_first(c, last));
      whole ? value.store(c) : value.store_first(c, last);
    });
  });
}

}  // namespace tapir::TAPIR_ISA
