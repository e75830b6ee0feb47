// What the forward and backward kernels of attention share.
#pragma once

#include <algorithm>

#include "backends/cpu/attention_shape.h"
#include "backends/cpu/product.h"
#include "backends/cpu/tile_product.h"

namespace tapir::TAPIR_ISA {

// Queries are taken in blocks of rows, keys in blocks of columns; a tile of scores stays in the
// cache. The fewer rows, the less is computed above the diagonal of causal attention; one tile of
// 14 rows, or two of 6, measured best from 64 to 512 queries.
inline constexpr int64_t kQueryBlock = kTileRows >= 12 ? kTileRows : 2 * kTileRows;
inline constexpr int64_t kKeyBlock = 256;

inline void transpose(int64_t rows, int64_t columns, const double* from, int64_t ld, double* to,
                      int64_t to_ld) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[j * to_ld + i] = from[i * ld + j];
  }
}

template <typename A>
struct AttentionProblem : AttentionShape {
  using AttentionShape::AttentionShape;

  // The matrix of x [B, H, T, D] that starts at (b, h, t).
  static cpu::BlasMatrix<const A> rows(ConstView x, int64_t b, int64_t h, int64_t t) {
    return {x.as<A>() + b * x.stride(0) + h * x.stride(1) + t * x.stride(2), row_step(x)};
  }
  static cpu::BlasMatrix<A> rows(View x, int64_t b, int64_t h, int64_t t) {
    return {x.as<A>() + b * x.stride(0) + h * x.stride(1) + t * x.stride(2), row_step(x)};
  }
  // A stride that BLAS accepts: that of a single row may be anything.
  static int64_t row_step(ConstView x) {
    return x.size(2) <= 1 ? std::max<int64_t>(1, x.size(3)) : x.stride(2);
  }

  // Working memory of the products of a tile and of its gradients.
  int64_t product_memory() const {
    const int64_t most = std::max(width, value_width);
    return std::max({TAPIR_ISA::product_memory<A>(kQueryBlock, kKeyBlock, most),
                     TAPIR_ISA::product_memory<A>(kQueryBlock, most, kKeyBlock),
                     TAPIR_ISA::product_memory<A>(kKeyBlock, most, kQueryBlock)});
  }

  // The keys or values of one head are transposed once for all blocks of queries. Rows of the
  // transpose are an odd number of cache lines apart, which spreads columns over the cache.
  int64_t transposed_step() const { return (padded(keys) / kPadding | 1) * kPadding; }
  // Too few queries would not repay it.
  bool transposes() const { return queries >= kQueryBlock / 2; }

  // The transpose of x's matrix (b, kv), made in `memory` if it is worth while.
  cpu::BlasMatrix<const A> columns_of(ConstView x, int64_t b, int64_t kv, A* memory) const {
    const cpu::BlasMatrix<const A> from = rows(x, b, kv, 0);
    if (!transposes()) return {from.data, from.ld, true};
    transpose(keys, x.size(3), from.data, from.ld, memory, transposed_step());
    return {memory, transposed_step()};
  }

  // Columns from s on.
  static cpu::BlasMatrix<const A> from_column(cpu::BlasMatrix<const A> x, int64_t s) {
    return {x.data + s * (x.transposed ? x.ld : 1), x.ld, x.transposed};
  }

  // A tile's width for products with a transpose that has padding.
  static int64_t padded_columns(cpu::BlasMatrix<const A> x, int64_t columns) {
    return x.transposed ? columns : padded(columns);
  }

  // scores[r, j] = scale * q[t + r] . k[s + j], or -inf where the mask hides the key and in the
  // padding after the last visible one. A tile of `tile_rows` by `columns` elements, kKeyBlock from
  // row to row. `key_columns` is the transpose of k.
  void score_tile(int64_t b, int64_t h, int64_t t, int64_t tile_rows, int64_t s, int64_t columns,
                  cpu::BlasMatrix<const A> key_columns, A* scores, A* memory) const {
    product<A>(tile_rows, padded_columns(key_columns, columns), width,
               static_cast<A>(options.scale), rows(q, b, h, t), from_column(key_columns, s), A(0),
               {scores, kKeyBlock}, memory);
    for (int64_t r = 0; r < tile_rows; ++r)
      hide(b, h, t + r, s, visible_columns(t + r, s, columns), scores + r * kKeyBlock);
  }
};

}  // namespace tapir::TAPIR_ISA
