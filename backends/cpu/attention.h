// What the forward and backward kernels of attention share.
#pragma once

#include <algorithm>

#include "backends/backend.h"
#include "backends/cpu/product.h"

namespace tapir::TAPIR_ISA {

// Queries are taken in blocks of rows, keys in blocks of columns; a tile of scores stays in the
// cache. Fewer rows waste less above the diagonal of causal attention, more rows make faster
// products: 32 measured best from 64 to 256 queries.
inline constexpr int64_t kQueryBlock = 32, kKeyBlock = 256;

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

  // scores[r, j] = scale * q[t + r] . k[s + j], or -inf where the mask or the causal rule hides
  // the key; a tile of `rows` by `columns` elements, kKeyBlock from row to row.
  void score_tile(int64_t b, int64_t h, int64_t t, int64_t tile_rows, int64_t s, int64_t columns,
                  A* scores) const {
    constexpr A kHidden = -std::numeric_limits<A>::infinity();
    cpu::BlasMatrix<const A> right = rows(k, b, kv_head(h), s);
    right.transposed = true;
    product<A>(tile_rows, columns, width, static_cast<A>(options.scale), rows(q, b, h, t), right,
               A(0), {scores, kKeyBlock});
    for (int64_t r = 0; r < tile_rows; ++r) {
      A* row = scores + r * kKeyBlock;
      const int64_t seen = std::clamp<int64_t>(visible(t + r) - s, 0, columns);
      std::fill(row + seen, row + columns, kHidden);
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
