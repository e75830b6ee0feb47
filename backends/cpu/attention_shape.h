// The sizes of attention, and which keys a query sees.
#pragma once

#include <algorithm>
#include <limits>

#include "backends/backend.h"

namespace tapir::TAPIR_ISA {

// Rows of scores are padded to a multiple of this with hidden keys, so that loops over them need
// no remainder.
inline constexpr int64_t kPadding = 16;

inline int64_t padded(int64_t count, int64_t multiple = kPadding) {
  return (count + multiple - 1) / multiple * multiple;
}

// Whether queries and keys are enough to fill tiles of AMX.
inline bool fills_tiles(ConstView q, ConstView k) {
  return std::min(q.size(2), k.size(2)) >= 16;
}

struct AttentionShape {
  ConstView q, k, v, mask;
  AttentionOptions options;
  int64_t batch, heads, kv_heads, queries, keys, width, value_width;

  AttentionShape(ConstView q_view, ConstView k_view, ConstView v_view, ConstView mask_view,
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

  // Query heads that share a head of keys and values.
  int64_t group() const { return kv_heads == 0 ? 0 : heads / kv_heads; }
  int64_t kv_head(int64_t head) const { return head / group(); }
  // Multiply-adds of one such group, forward, were nothing hidden.
  int64_t group_cost() const { return group() * queries * keys * (width + value_width); }

  // How many keys query t sees, were there no mask.
  int64_t visible(int64_t t) const {
    return options.causal ? std::clamp<int64_t>(t + 1 + keys - queries, 0, keys) : keys;
  }

  // How many columns of a tile that starts at key s row t needs; the others are hidden.
  int64_t visible_columns(int64_t t, int64_t s, int64_t columns) const {
    return std::clamp<int64_t>(visible(t) - s, 0, columns);
  }

  // Makes the scores of query t that its mask hides -inf, and those in the padding after the last
  // visible one. `row` is a row of a tile that starts at key s, with `seen` visible columns.
  template <typename A>
  void hide(int64_t b, int64_t h, int64_t t, int64_t s, int64_t seen, A* row) const {
    constexpr A kHidden = -std::numeric_limits<A>::infinity();
    std::fill(row + seen, row + padded(seen), kHidden);
    if (mask.data == nullptr) return;
    const unsigned char* keep = mask.as<unsigned char>() + b * mask.stride(0) + h * mask.stride(1) +
                                t * mask.stride(2) + s * mask.stride(3);
    for (int64_t j = 0; j < seen; ++j) {
      if (keep[j * mask.stride(3)] == 0) row[j] = kHidden;
    }
  }
};

}  // namespace tapir::TAPIR_ISA
