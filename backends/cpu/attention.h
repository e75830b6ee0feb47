// What the forward and backward kernels of attention share.
#pragma once

#include <algorithm>

#include "backends/backend.h"
#include "backends/cpu/product.h"
#include "backends/cpu/tile_product.h"

namespace tapir::TAPIR_ISA {

// Queries are taken in blocks of rows, keys in blocks of columns; a tile of scores stays in the
// cache. The fewer rows, the less is computed above the diagonal of causal attention; one tile of
// 14 rows, or two of 6, measured best from 64 to 512 queries.
inline constexpr int64_t kQueryBlock = kTileRows >= 12 ? kTileRows : 2 * kTileRows;
inline constexpr int64_t kKeyBlock = 256;

// Rows of scores are padded to a multiple of this with hidden keys, so that loops over them need
// no remainder.
inline constexpr int64_t kPadding = 16;

inline int64_t padded(int64_t count) {
  return (count + kPadding - 1) / kPadding * kPadding;
}

inline void transpose(int64_t rows, int64_t columns, const double* from, int64_t ld, double* to,
                      int64_t to_ld) {
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < columns; ++j) to[j * to_ld + i] = from[i * ld + j];
  }
}

template <typename A>
struct AttentionProblem {
  ConstView q, k, v, mask;
  AttentionOptions options;
  int64_t batch, heads, kv_heads, queries, keys, width, value_width;

  AttentionProblem(ConstView q_view, ConstView k_view, ConstView v_view, ConstView mask_view,
                   const AttentionOptions& attention_options)
      : q(q_view),
        k(k_view),
        v(v_view),
        mask(mask_view),
        options(attention_options),
        batch(q.size(0)),
        heads(q.size(1)),
        kv_heads(k.size(1)),
        queries(q.size(2)),
        keys(k.size(2)),
        width(q.size(3)),
        value_width(v.size(3)) {}

  int64_t kv_head(int64_t head) const { return head / (heads / kv_heads); }

  // How many keys query t sees, were there no mask.
  int64_t visible(int64_t t) const {
    return options.causal ? std::clamp<int64_t>(t + 1 + keys - queries, 0, keys) : keys;
  }

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

  // How many columns of a tile that starts at key s row t + r needs; the others are hidden.
  int64_t visible_columns(int64_t t, int64_t r, int64_t s, int64_t columns) const {
    return std::clamp<int64_t>(visible(t + r) - s, 0, columns);
  }

  // scores[r, j] = scale * q[t + r] . k[s + j], or -inf where the mask hides the key and in the
  // padding after the last visible one. A tile of `tile_rows` by `columns` elements, kKeyBlock from
  // row to row. `key_columns` is the transpose of k.
  void score_tile(int64_t b, int64_t h, int64_t t, int64_t tile_rows, int64_t s, int64_t columns,
                  cpu::BlasMatrix<const A> key_columns, A* scores, A* memory) const {
    constexpr A kHidden = -std::numeric_limits<A>::infinity();
    product<A>(tile_rows, padded_columns(key_columns, columns), width,
               static_cast<A>(options.scale), rows(q, b, h, t), from_column(key_columns, s), A(0),
               {scores, kKeyBlock}, memory);
    for (int64_t r = 0; r < tile_rows; ++r) {
      A* row = scores + r * kKeyBlock;
      const int64_t seen = visible_columns(t, r, s, columns);
      std::fill(row + seen, row + padded(seen), kHidden);
      if (mask.data == nullptr) continue;
      const unsigned char* keep = mask.as<unsigned char>() + b * mask.stride(0) +
                                  h * mask.stride(1) + (t + r) * mask.stride(2) +
                                  s * mask.stride(3);
      for (int64_t j = 0; j < seen; ++j) {
        if (keep[j * mask.stride(3)] == 0) row[j] = kHidden;
      }
    }
  }
};

}  // namespace tapir::TAPIR_ISA
