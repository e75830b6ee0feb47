// The product of a strip of a with a strip of b, two by two tiles of the result.
#pragma once

#include <algorithm>

#include "backends/cpu/amx_tile.h"
#include "backends/cpu/bf16_strips.h"

namespace tapir::TAPIR_ISA {

// Where the tiles of a strip are: its rows, its second tile and its next step are so many bytes
// further on.
struct StripView {
  const void* data;
  int64_t row, tile, step;

  // Packed by pack_strip.
  static StripView packed(const uint32_t* pairs, int parts) {
    constexpr int64_t kPair = sizeof(uint32_t);
    return {pairs, kTileSide * kPair, kTilePairs * kPair, step_pairs(parts) * kPair};
  }
  // 32 rows of bf16 as they stand in memory, `row` bytes apart.
  static StripView in_place(const void* rows, int64_t row) {
    return {rows, row, kTileSide * row, kStepTerms * int64_t{sizeof(bf16)}};
  }

  const void* at(int64_t bytes) const { return static_cast<const char*>(data) + bytes; }
};

// Whether each row of a tile is one line of the cache, so that tiles can read it where it is.
// Reading two would take twice as long.
inline bool has_tiles(const Lines<bf16>& lines) {
  constexpr auto kLine = static_cast<uintptr_t>(kStepTerms) * sizeof(bf16);
  return lines.step == 1 && reinterpret_cast<uintptr_t>(lines.data) % kLine == 0 &&
         static_cast<uintptr_t>(lines.line_step) * sizeof(bf16) % kLine == 0;
}

// A result [m, n] of sums over k terms, its rows `ld` elements apart: one of the pointers is null.
struct Result {
  int64_t m, n, k;
  float* sums;
  bf16* rounded;
  int64_t ld;
};

// Where the product of two strips goes. It is added to `sums` or overwrites it; with `rounded` it
// goes there in the end, and sums, if it is not added to, may be null.
struct Target {
  float* sums = nullptr;
  int64_t sums_ld = 0;
  bf16* rounded = nullptr;
  int64_t rounded_ld = 0;
  int64_t rows, columns;
  bool accumulate;
};

// The lines that it overwrites, which would otherwise be waited for when they are stored.
inline Lookahead<Access::write> lines_of(const Target& target, int64_t steps) {
  const auto lines = [&](const auto* data, int64_t ld) -> Lookahead<Access::write> {
    constexpr auto kBytes = static_cast<int64_t>(sizeof(*data));
    return {data, target.rows, target.columns * kBytes, ld * kBytes, steps};
  };
  if (target.rounded != nullptr) return lines(target.rounded, target.rounded_ld);
  return target.accumulate ? Lookahead<Access::write>() : lines(target.sums, target.sums_ld);
}

inline void zero(Tiles& tiles) {
  tiles.zero<0>();
  tiles.zero<1>();
  tiles.zero<2>();
  tiles.zero<3>();
}

template <int RowTiles, int ColumnTiles>
void load(Tiles& tiles, const float* c, int64_t ld) {
  const int64_t step = ld * int64_t{sizeof(float)};
  const float* lower = c + kTileSide * ld;
  tiles.load<0>(c, step);
  if constexpr (ColumnTiles == 2) tiles.load<1>(c + kTileSide, step);
  if constexpr (RowTiles == 2) tiles.load<2>(lower, step);
  if constexpr (RowTiles == 2 && ColumnTiles == 2) tiles.load<3>(lower + kTileSide, step);
}

template <int RowTiles, int ColumnTiles>
void store(Tiles& tiles, float* c, int64_t ld) {
  const int64_t step = ld * int64_t{sizeof(float)};
  float* lower = c + kTileSide * ld;
  tiles.store<0>(c, step);
  if constexpr (ColumnTiles == 2) tiles.store<1>(c + kTileSide, step);
  if constexpr (RowTiles == 2) tiles.store<2>(lower, step);
  if constexpr (RowTiles == 2 && ColumnTiles == 2) tiles.store<3>(lower + kTileSide, step);
}

// Which operand of a step has other tiles than the multiplication before.
enum class Changed { a, b, both };

// Two by two tiles of sums take at most four loads for four multiplications. They alternate, so
// that the first multiplication need not wait for the last load. `in_a` and `in_b` are where the
// tiles begin, in bytes.
template <int RowTiles, int ColumnTiles, Changed changed>
void multiply_add(Tiles& tiles, const StripView& a, int64_t in_a, const StripView& b,
                  int64_t in_b) {
  constexpr bool load_a = changed != Changed::b, load_b = changed != Changed::a;
  if constexpr (load_b) tiles.load<6>(b.at(in_b), b.row);
  if constexpr (load_a) tiles.load<4>(a.at(in_a), a.row);
  tiles.multiply_add<0, 4, 6>();
  if constexpr (RowTiles == 2) {
    if constexpr (load_a) tiles.load<5>(a.at(in_a + a.tile), a.row);
    tiles.multiply_add<2, 5, 6>();
  }
  if constexpr (ColumnTiles == 2) {
    if constexpr (load_b) tiles.load<7>(b.at(in_b + b.tile), b.row);
    tiles.multiply_add<1, 4, 7>();
    if constexpr (RowTiles == 2) tiles.multiply_add<3, 5, 7>();
  }
}

// With two parts, from one product to the next only one operand is loaded.
template <int Parts, int RowTiles, int ColumnTiles>
void multiply_steps(Tiles& tiles, int64_t steps, const StripView& a, const StripView& b,
                    Lookahead<Access::write> result, Lookahead<Access::read>& next) {
  constexpr int64_t kRest = 2 * kTilePairs * int64_t{sizeof(uint32_t)};
  for (int64_t step = 0; step < steps; ++step) {
    const int64_t in_a = step * a.step, in_b = step * b.step;
    next.advance();
    result.advance();
    if constexpr (Parts == 1) {
      multiply_add<RowTiles, ColumnTiles, Changed::both>(tiles, a, in_a, b, in_b);
    } else {
      multiply_add<RowTiles, ColumnTiles, Changed::both>(tiles, a, in_a, b, in_b + kRest);
      multiply_add<RowTiles, ColumnTiles, Changed::b>(tiles, a, in_a, b, in_b);
      multiply_add<RowTiles, ColumnTiles, Changed::a>(tiles, a, in_a + kRest, b, in_b);
    }
  }
}

inline void copy_block(int64_t rows, int64_t columns, const float* from, int64_t from_ld, float* to,
                       int64_t to_ld) {
  for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * from_ld, columns, to + i * to_ld);
}

// What does not fill its tiles, or is to be rounded, goes through a small buffer.
template <int Parts, int RowTiles, int ColumnTiles>
void multiply_tiles(Tiles& tiles, int64_t steps, const StripView& a, const StripView& b,
                    const Target& target, Lookahead<Access::read>& next) {
  const bool whole =
      target.rows == RowTiles * kTileSide && target.columns == ColumnTiles * kTileSide;
  alignas(64) float buffer[kStripLines * kStripLines];
  if (!target.accumulate) {
    zero(tiles);
  } else if (whole) {
    load<RowTiles, ColumnTiles>(tiles, target.sums, target.sums_ld);
  } else {
    copy_block(target.rows, target.columns, target.sums, target.sums_ld, buffer, kStripLines);
    load<RowTiles, ColumnTiles>(tiles, buffer, kStripLines);
  }
  multiply_steps<Parts, RowTiles, ColumnTiles>(tiles, steps, a, b, lines_of(target, steps), next);
  if (whole && target.rounded == nullptr)
    return store<RowTiles, ColumnTiles>(tiles, target.sums, target.sums_ld);
  store<RowTiles, ColumnTiles>(tiles, buffer, kStripLines);
  if (target.rounded == nullptr)
    return copy_block(target.rows, target.columns, buffer, kStripLines, target.sums,
                      target.sums_ld);
  for (int64_t i = 0; i < target.rows; ++i)
    round_line(buffer + i * kStripLines, target.columns, target.rounded + i * target.rounded_ld);
}

// A result of at most 32 by 32 elements, over so many steps of 32 terms.
template <int Parts>
void multiply_strips(Tiles& tiles, int64_t steps, const StripView& a, const StripView& b,
                     const Target& target, Lookahead<Access::read>& next) {
  const bool low = target.rows <= kTileSide, narrow = target.columns <= kTileSide;
  if (low) {
    narrow ? multiply_tiles<Parts, 1, 1>(tiles, steps, a, b, target, next)
           : multiply_tiles<Parts, 1, 2>(tiles, steps, a, b, target, next);
  } else {
    narrow ? multiply_tiles<Parts, 2, 1>(tiles, steps, a, b, target, next)
           : multiply_tiles<Parts, 2, 2>(tiles, steps, a, b, target, next);
  }
}

}  // namespace tapir::TAPIR_ISA
