// Products of sums with many terms, as gradients of weights are: one term for each token.
#pragma once

#include <numeric>

#include "backends/cpu/allocator.h"
#include "backends/cpu/bf16_tiles.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {

// c = a b of one matrix. The terms are cut into chunks that are summed up apart: so a thread packs,
// of both operands, the terms of its own chunk only, and what it has packed is in its own cache
// when it multiplies. The sums of all chunks are added at the end, from the first to the last. How
// terms are cut follows from the shape alone, and with it the bits.
template <int Parts, typename T>
class SplitProduct {
 public:
  // Whether at least two chunks are long enough, and the sums small enough for a cache.
  static bool suits(const Result& c) {
    return c.k >= 2 * kChunkTerms && c.m * c.n <= int64_t{512} << 10;
  }

  SplitProduct(const Lines<T>& rows, const Lines<T>& columns, const Result& c)
      : rows_(rows),
        columns_(columns),
        c_(c),
        steps_(steps_of(c.k)),
        chunks_(std::min(c.k / kChunkTerms, kMostChunks)),
        chunk_steps_(divide_up(steps_, chunks_)),
        block_steps_(divide_up(chunk_steps_, divide_up(chunk_steps_, kMostBlockSteps))) {
    // Rows of a panel: their sums stay in the second-level cache, and no thread is left without
    // any.
    const int64_t workers = cpu::threads(), row_strips = strips_of(c.m);
    const int64_t panels =
        std::max(divide_up(row_strips * kStripSums * column_strips(), kPanelSums),
                 workers / std::gcd(workers, chunks_));
    panel_strips_ = divide_up(row_strips, panels);
  }

  void run() const {
    const cpu::Scratch<float> sums(chunks_ * chunk_sums());
    const cpu::Scratch<uint32_t> packed(cpu::threads() * packed_pairs());
    const int64_t panels = divide_up(strips_of(c_.m), panel_strips_);
    cpu::parallel_for(
        chunks_ * panels, chunk_sums() / panels * chunk_steps_, [&](int64_t item, int worker) {
          const int64_t chunk = item / panels;
          sum_chunk(chunk * chunk_steps_, item % panels * panel_strips_,
                    packed.data() + worker * packed_pairs(), sums.data() + chunk * chunk_sums());
        });
    cpu::parallel_for(c_.m, chunks_ * c_.n,
                      [&](int64_t row) { add_chunks(row, sums.data() + row * sums_ld()); });
  }

 private:
  static constexpr int64_t kChunkTerms = 384, kMostChunks = 4;
  // A strip of each operand stays in the first-level cache.
  static constexpr int64_t kMostBlockSteps = 8 / Parts;
  static constexpr int64_t kStripSums = kStripLines * kStripLines;
  static constexpr int64_t kPanelSums = int64_t{256} << 10;

  int64_t column_strips() const { return strips_of(c_.n); }
  // Sums fill their tiles; what lies beyond the result is not read.
  int64_t sums_ld() const { return column_strips() * kStripLines; }
  int64_t chunk_sums() const { return strips_of(c_.m) * kStripLines * sums_ld(); }
  int64_t strip_pairs() const { return block_steps_ * step_pairs(Parts); }
  int64_t packed_pairs() const { return (panel_strips_ + column_strips()) * strip_pairs(); }

  // The terms of a chunk from `step` on, for the rows from a strip on.
  void sum_chunk(int64_t step, int64_t first_strip, uint32_t* packed, float* sums) const {
    const int64_t end = std::min(step + chunk_steps_, steps_);
    const int64_t i = first_strip * kStripLines;
    const int64_t rows = std::min(panel_strips_ * kStripLines, c_.m - i);
    uint32_t* packed_columns = packed + panel_strips_ * strip_pairs();
    Tiles tiles;
    for (int64_t s = step; s < end; s += block_steps_) {
      const int64_t count = std::min(block_steps_, end - s), l = s * kStepTerms;
      const int64_t terms = std::min(count * kStepTerms, c_.k - l);
      pack_strips<Parts, true>(rows_.from(i, l), rows, terms, strip_pairs(), packed);
      pack_strips<Parts, false>(columns_.from(0, l), c_.n, terms, strip_pairs(), packed_columns);
      const int64_t next = std::min(block_steps_, end - s - count) * kStepTerms;
      const int64_t calls = strips_of(rows) * column_strips() * count / 2;
      Lookahead<Access::read> ahead[2] = {
          lines_ahead(rows_.from(i, l + terms), rows, std::min(next, c_.k - l - terms), calls),
          lines_ahead(columns_.from(0, l + terms), c_.n, std::min(next, c_.k - l - terms), calls)};
      multiply_block(tiles, rows, count, packed, packed_columns, sums + i * sums_ld(), s > step,
                     ahead);
    }
  }

  // Meanwhile the operands of the next block are fetched, one after the other.
  void multiply_block(Tiles& tiles, int64_t rows, int64_t steps, const uint32_t* a,
                      const uint32_t* b, float* sums, bool accumulate,
                      Lookahead<Access::read> (&ahead)[2]) const {
    const auto whole_tiles = [](int64_t lines) {
      return lines > kTileSide ? kStripLines : int64_t{kTileSide};
    };
    for (int64_t i = 0; i < rows; i += kStripLines) {
      for (int64_t j = 0; j < c_.n; j += kStripLines) {
        Target target{};
        target.sums = sums + i * sums_ld() + j;
        target.sums_ld = sums_ld();
        target.rows = whole_tiles(rows - i);
        target.columns = whole_tiles(c_.n - j);
        target.accumulate = accumulate;
        multiply_strips<Parts>(tiles, steps,
                               StripView::packed(a + i / kStripLines * strip_pairs(), Parts),
                               StripView::packed(b + j / kStripLines * strip_pairs(), Parts),
                               target, ahead[2 * i < rows ? 0 : 1]);
      }
    }
  }

  // `sums` of the first chunk becomes the row of all.
  void add_chunks(int64_t row, float* sums) const {
    for (int64_t chunk = 1; chunk < chunks_; ++chunk) {
      const float* more = sums + chunk * chunk_sums();
      for (int64_t j = 0; j < c_.n; ++j) sums[j] += more[j];
    }
    if (c_.rounded == nullptr) {
      std::copy_n(sums, c_.n, c_.sums + row * c_.ld);
      return;
    }
    for (int64_t j = 0; j < c_.n; j += kStripLines)
      round_line(sums + j, c_.n - j, c_.rounded + row * c_.ld + j);
  }

  Lines<T> rows_, columns_;
  Result c_;
  int64_t steps_, chunks_, chunk_steps_, block_steps_;
  int64_t panel_strips_ = 0;
};

}  // namespace tapir::TAPIR_ISA
