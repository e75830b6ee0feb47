// Operands of products in the order in which AMX's tiles read them, rounded to bf16.
#pragma once

#include "backends/cpu/amx_tile.h"
#include "backends/cpu/bf16_lanes.h"

namespace tapir::TAPIR_ISA {

// A strip is 32 rows of a, or 32 columns of b: two tiles side by side. It is cut into steps of 32
// terms, which one multiplication of tiles takes. A step holds the two tiles of the rounded numbers
// and, with two parts, the two tiles of what the rounding took away. The pairs of a tile are terms
// p and p + 16 of the step if operands are f32, which have to be rounded, and terms 2p and 2p + 1
// if they are bf16: then a row of a's tile is what stands in memory.
inline constexpr int64_t kStripLines = 2 * kTileSide, kStepTerms = 32;
inline constexpr int64_t kTilePairs = kTileSide * kTileSide;

constexpr int64_t divide_up(int64_t size, int64_t piece) {
  return (size + piece - 1) / piece;
}

constexpr int64_t strips_of(int64_t lines) {
  return divide_up(lines, kStripLines);
}
constexpr int64_t steps_of(int64_t terms) {
  return divide_up(terms, kStepTerms);
}

constexpr int64_t step_pairs(int parts) {
  return 2 * kTilePairs * parts;
}

// Rows of a, or columns of b: element l of line i at data[i * line_step + l * step], where one of
// the steps is 1.
template <typename T>
struct Lines {
  const T* data;
  int64_t line_step, step;

  Lines from(int64_t line, int64_t l) const {
    return {data + line * line_step + l * step, line_step, step};
  }
};

// Fetches a rectangle of memory, some lines of the cache at a time, while tiles multiply: what is
// read next into the second-level cache, or what is written next into the first-level one.
enum class Access { read, write };

template <Access access>
class Lookahead {
 public:
  Lookahead() = default;
  // So many rows, in `calls` calls. Sizes are in bytes.
  Lookahead(const void* data, int64_t rows, int64_t row_bytes, int64_t row_step, int64_t calls)
      : row_(static_cast<const char*>(data)),
        rows_(rows),
        row_bytes_(row_bytes),
        row_step_(row_step) {
    const int64_t lines = rows * ((row_bytes + kLineBytes - 1) / kLineBytes);
    each_ = (lines + calls - 1) / calls;
  }

  void advance() {
    for (int64_t i = 0; i < each_ && rows_ > 0; ++i) {
      access == Access::read ? __builtin_prefetch(row_ + at_, 0, 2)
                             : __builtin_prefetch(row_ + at_, 1, 3);
      at_ += kLineBytes;
      if (at_ < row_bytes_) continue;
      at_ = 0;
      row_ += row_step_;
      --rows_;
    }
  }

 private:
  static constexpr int64_t kLineBytes = 64;
  const char* row_ = nullptr;
  int64_t rows_ = 0, row_bytes_ = 0, row_step_ = 0, at_ = 0, each_ = 0;
};

// What is packed next of so many lines and terms; of none, nothing.
template <typename T>
Lookahead<Access::read> lines_ahead(const Lines<T>& lines, int64_t count, int64_t terms,
                                    int64_t calls) {
  if (count <= 0 || terms <= 0 || calls <= 0) return {};
  constexpr auto kBytes = static_cast<int64_t>(sizeof(T));
  const bool by_line = lines.step == 1;
  return {lines.data, by_line ? count : terms, (by_line ? terms : count) * kBytes,
          (by_line ? lines.line_step : lines.step) * kBytes, calls};
}

// Sixteen lines of a step, the upper or lower half of a strip. What lies beyond `count` lines and
// `terms` terms counts as zero. Tiles of a have a row for each line, those of b for each pair.
template <int Parts, bool OfA>
void pack_tile(const Lines<float>& lines, int64_t count, int64_t terms, uint32_t* to) {
  const bool by_line = lines.step == 1;
  const int64_t row_step = by_line ? lines.line_step : lines.step;
  const int64_t second = by_line ? kTileSide : kTileSide * lines.step;
  Pairs rounded[kTileSide], rest[kTileSide];
  for (int64_t i = 0; i < kTileSide; ++i) {
    const float* from = lines.data + i * row_step;
    const int64_t first_count = by_line ? (i < count ? terms : 0) : (i < terms ? count : 0);
    const int64_t second_count =
        by_line ? first_count - kTileSide : (i + kTileSide < terms ? count : 0);
    const Lanes x = Lanes::load_first(from, first_count);
    const Lanes y = Lanes::load_first(from + second, second_count);
    rounded[i] = round_pairs(x, y);
    if constexpr (Parts == 2) rest[i] = rest_of(x, y, rounded[i]);
  }
  if (by_line != OfA) {
    transpose_square(rounded);
    if constexpr (Parts == 2) transpose_square(rest);
  }
  for (int64_t i = 0; i < kTileSide; ++i) {
    rounded[i].store(to + i * kTileSide);
    if constexpr (Parts == 2) rest[i].store(to + 2 * kTilePairs + i * kTileSide);
  }
}

// `Whole` says that all lines and terms are there, ByLine that the terms of a line are consecutive.
template <bool OfA, bool Whole, bool ByLine>
void pack_pairs(const Lines<bf16>& lines, int64_t count, int64_t terms, uint32_t* to) {
  Pairs rows[kTileSide];
  unroll<kTileSide>([&](auto i) {
    const bf16* from = lines.data + (ByLine ? i * lines.line_step : 2 * i * lines.step);
    if constexpr (ByLine) {
      rows[i] = neighbour_pairs(from, Whole ? kStepTerms : i < count ? terms : 0);
    } else {
      rows[i] = join_pairs(from,
                           Whole           ? kTileSide
                           : 2 * i < terms ? count
                                           : 0,
                           from + lines.step,
                           Whole               ? kTileSide
                           : 2 * i + 1 < terms ? count
                                               : 0);
    }
  });
  if constexpr (ByLine != OfA) transpose_square(rows);
  unroll<kTileSide>([&](auto i) { rows[i].store(to + i * kTileSide); });
}

template <int Parts, bool OfA>
void pack_tile(const Lines<bf16>& lines, int64_t count, int64_t terms, uint32_t* to) {
  static_assert(Parts == 1);
  const bool by_line = lines.step == 1;
  if (count >= kTileSide && terms >= kStepTerms) {
    by_line ? pack_pairs<OfA, true, true>(lines, count, terms, to)
            : pack_pairs<OfA, true, false>(lines, count, terms, to);
  } else {
    by_line ? pack_pairs<OfA, false, true>(lines, count, terms, to)
            : pack_pairs<OfA, false, false>(lines, count, terms, to);
  }
}

// A strip of up to kStripLines lines. Of a strip with half as many lines, the second tiles are left
// as they are.
template <int Parts, bool OfA, typename T>
void pack_strip(const Lines<T>& lines, int64_t count, int64_t terms, uint32_t* to) {
  for (int64_t l = 0; l < terms; l += kStepTerms, to += step_pairs(Parts)) {
    for (int64_t i = 0; i < std::min(count, kStripLines); i += kTileSide)
      pack_tile<Parts, OfA>(lines.from(i, l), count - i, terms - l, to + i * kTileSide);
  }
}

// Packs all lines, in strips that are `strip_pairs` apart. Some terms of every strip at a time:
// where lines lie side by side, these are whole rows of memory.
template <int Parts, bool OfA, typename T>
void pack_strips(const Lines<T>& lines, int64_t count, int64_t terms, int64_t strip_pairs,
                 uint32_t* to) {
  constexpr int64_t kSteps = 4, kTerms = kSteps * kStepTerms;
  for (int64_t l = 0; l < terms; l += kTerms, to += kSteps * step_pairs(Parts)) {
    for (int64_t i = 0; i < count; i += kStripLines) {
      pack_strip<Parts, OfA>(lines.from(i, l), count - i, std::min(kTerms, terms - l),
                             to + i / kStripLines * strip_pairs);
    }
  }
}

}  // namespace tapir::TAPIR_ISA
