// What the kernels of bf16_attention.h share: heads as operands of tiles.
#pragma once

#include "backends/cpu/attention_shape.h"
#include "backends/cpu/bf16_tiles.h"

namespace tapir::TAPIR_ISA {

// 32 queries at a time, and so many keys: a tile of scores stays in the cache.
inline constexpr int64_t kTileQueries = kStripLines, kTileKeys = 256;

// Pairs that an operand takes, packed.
inline int64_t packed_pairs(int64_t lines, int64_t terms) {
  return strips_of(lines) * steps_of(terms) * step_pairs(1);
}

// A matrix of bf16 stored by rows: rows t, t + 1, ... of a head.
struct HeadRows {
  const bf16* data;
  int64_t row_step, rows, width;

  HeadRows(ConstView x, int64_t b, int64_t h, int64_t t = 0)
      : data(x.as<bf16>() + b * x.stride(0) + h * x.stride(1) + t * x.stride(2)),
        row_step(x.size(2) <= 1 ? x.size(3) : x.stride(2)),
        rows(x.size(2) - t),
        width(x.size(3)) {}
};

// Packs a matrix as b. `as_terms` says that its rows are terms and its columns those of b, else its
// rows are b's columns.
inline void pack_b(const HeadRows& x, int64_t rows, bool as_terms, uint32_t* to) {
  const Lines<bf16> lines =
      as_terms ? Lines<bf16>{x.data, 1, x.row_step} : Lines<bf16>{x.data, x.row_step, 1};
  const int64_t count = as_terms ? x.width : rows, terms = as_terms ? rows : x.width;
  pack_strips<1, false>(lines, count, terms, steps_of(terms) * step_pairs(1), to);
}

// Up to 32 rows as a strip of a, packed at `memory` unless tiles can read them as they are.
inline StripView strip_a(const HeadRows& x, uint32_t* memory) {
  const Lines<bf16> lines{x.data, x.row_step, 1};
  if (x.rows >= kStripLines && x.width % kStepTerms == 0 && has_tiles(lines))
    return StripView::in_place(x.data, x.row_step * int64_t{sizeof(bf16)});
  pack_strip<1, true>(lines, std::min(x.rows, kStripLines), x.width, memory);
  return StripView::packed(memory, 1);
}

// One operand of bf16 that a kernel wrote itself, 32 rows of kTileKeys.
struct KeyTile {
  bf16* data;

  StripView as_rows() const { return StripView::in_place(data, kTileKeys * int64_t{sizeof(bf16)}); }
  // The transpose of its columns s, ..., s + 31, packed.
  StripView turned(int64_t s, uint32_t* memory) const {
    pack_strip<1, true>(Lines<bf16>{data + s, 1, kTileKeys}, kStripLines, kTileQueries, memory);
    return StripView::packed(memory, 1);
  }
};

// c [32, columns rounded up] = or += a b, over so many steps. b is packed in strips of `b_steps`
// steps, of which the product takes those from `first` on.
struct PackedB {
  const uint32_t* pairs;
  int64_t strip_steps, first = 0;

  StripView strip(int64_t index) const {
    return StripView::packed(pairs + (index * strip_steps + first) * step_pairs(1), 1);
  }
};

inline void multiply_rows(Tiles& tiles, int64_t steps, const StripView& a, const PackedB& b,
                          int64_t columns, bool accumulate, float* c, int64_t ld) {
  Lookahead<Access::read> none;
  for (int64_t strip = 0; strip < strips_of(columns); ++strip)
    multiply_tiles<1, 2, 2>(tiles, steps, a, b.strip(strip),
                            {.sums = c + strip * kStripLines,
                             .sums_ld = ld,
                             .rows = kStripLines,
                             .columns = kStripLines,
                             .accumulate = accumulate},
                            none);
}

// Rounds rows of `width` floats, `ld` from row to row.
inline void round_rows(const float* from, int64_t ld, int64_t rows, int64_t width, bf16* to,
                       int64_t to_ld) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < width; j += kStripLines)
      round_line(from + i * ld + j, width - j, to + i * to_ld + j);
}

}  // namespace tapir::TAPIR_ISA
