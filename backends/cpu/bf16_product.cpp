#include "backends/cpu/bf16_product.h"

#include <algorithm>
#include <array>
#include <limits>

#include "backends/cpu/bf16_split_product.h"
#include "backends/cpu/matrix_view.h"

namespace tapir::TAPIR_ISA {
namespace {

// Sizes of what is packed at a time: a piece of a stays in the second-level cache; of a strip as
// deep as a block the larger part stays in the first-level one.
constexpr int64_t kMostBlockSteps = 32;
constexpr int64_t kPieceBytes = int64_t{256} << 10, kMostPieceStrips = 16;
// Columns of the result that a piece goes through together: b's strips for them stay in the
// second-level cache, and rows of the result are written in runs of lines.
constexpr int64_t kGroupColumns = 8 * kStripLines;
constexpr int64_t kColumnsBytes = int64_t{16} << 20;  // of b

// c = a b of one matrix. The columns of b are packed by all threads, as many as fit a certain size;
// then panels of the result are computed, for which each thread packs the rows of a.
template <int Parts, typename T>
class Product {
 public:
  Product(const Lines<T>& rows, const Lines<T>& columns, const Result& c)
      : rows_(rows),
        columns_(columns),
        c_(c),
        steps_(steps_of(c.k)),
        block_steps_(divide_up(steps_, divide_up(steps_, kMostBlockSteps))),
        piece_strips_(
            std::clamp(kPieceBytes / (block_steps_ * kStepBytes), int64_t{4}, kMostPieceStrips)),
        strips_at_once_(
            std::clamp(kColumnsBytes / (steps_ * kStepBytes), int64_t{1}, strips_of(c.n))) {
    cut_panels();
  }

  void run() const {
    const cpu::Scratch<uint32_t> columns(strips_at_once_ * strip_pairs());
    const cpu::Scratch<uint32_t> pieces(cpu::threads() * piece_pairs());
    const cpu::Scratch<float> sums(cpu::threads() * piece_sums());
    for (int64_t j = 0; j < c_.n; j += strips_at_once_ * kStripLines) {
      const int64_t count = std::min(strips_at_once_ * kStripLines, c_.n - j);
      pack_columns(j, count, columns.data());
      multiply_block(j, count, columns.data(), pieces.data(), sums.data());
    }
  }

 private:
  static constexpr int64_t kStepBytes = step_pairs(Parts) * int64_t{sizeof(uint32_t)};

  int64_t strip_pairs() const { return steps_ * step_pairs(Parts); }
  int64_t piece_rows() const { return piece_strips_ * kStripLines; }
  int64_t piece_pairs() const { return piece_strips_ * block_steps_ * step_pairs(Parts); }
  // Sums of several blocks have to wait somewhere until they are rounded.
  bool sums_wait() const { return c_.rounded != nullptr && steps_ > block_steps_; }
  int64_t piece_sums() const { return sums_wait() ? piece_rows() * panel_columns_ : 0; }

  // As many panels as keep the threads busy to the end, with few rows packed twice.
  void cut_panels() {
    constexpr double kPack = 64;    // products that take as long as packing an element
    constexpr double kStart = 2e5;  // that take as long as starting a panel
    constexpr double kLate = 0.15;  // what the slowest thread does more than others, in panels
    const int64_t workers = cpu::threads();
    const int64_t columns_at_once = std::min(c_.n, strips_at_once_ * kStripLines);
    double best = std::numeric_limits<double>::infinity();
    for (int64_t r = 1; r <= 4 * workers; ++r) {
      for (int64_t c = 1; r * c <= 4 * workers; ++c) {
        const int64_t rows = strips_of(divide_up(c_.m, r)) * kStripLines;
        const int64_t columns = strips_of(divide_up(columns_at_once, c)) * kStripLines;
        const auto rounds = static_cast<double>(divide_up(r * c, workers));
        const double panel = static_cast<double>(c_.k) * static_cast<double>(rows) *
                                 (static_cast<double>(columns) + kPack) +
                             kStart;
        if ((rounds + kLate) * panel >= best) continue;
        best = (rounds + kLate) * panel;
        panel_rows_ = rows;
        panel_columns_ = columns;
      }
    }
  }

  void pack_columns(int64_t j, int64_t count, uint32_t* to) const {
    constexpr int64_t kSteps = 4;
    cpu::parallel_pieces(
        steps_, kSteps, kStepTerms * count, [&](int64_t, int64_t begin, int64_t end) {
          const int64_t l = begin * kStepTerms, terms = std::min(end * kStepTerms, c_.k) - l;
          pack_strips<Parts, false>(columns_.from(j, l), count, terms, strip_pairs(),
                                    to + begin * step_pairs(Parts));
        });
  }

  void multiply_block(int64_t j, int64_t count, const uint32_t* columns, uint32_t* pieces,
                      float* sums) const {
    const int64_t across = divide_up(count, panel_columns_), down = divide_up(c_.m, panel_rows_);
    const int64_t cost = panel_rows_ * panel_columns_ * c_.k / 64;
    cpu::parallel_for(across * down, cost, [&](int64_t panel, int worker) {
      const int64_t i = panel / across * panel_rows_, first = panel % across * panel_columns_;
      const uint32_t* strips = columns + first / kStripLines * strip_pairs();
      multiply_panel({i, std::min(panel_rows_, c_.m - i)},
                     {j + first, std::min(panel_columns_, count - first)}, strips,
                     {pieces + worker * piece_pairs(), sums + worker * piece_sums()});
    });
  }

  struct Range {
    int64_t begin, count;
  };
  // Of one worker.
  struct Memory {
    uint32_t* piece;
    float* sums;
  };

  void multiply_panel(Range rows, Range columns, const uint32_t* strips,
                      const Memory& memory) const {
    Tiles tiles;
    for (int64_t i = 0; i < rows.count; i += piece_rows()) {
      const Range part{rows.begin + i, std::min(piece_rows(), rows.count - i)};
      for (int64_t step = 0; step < steps_; step += block_steps_)
        multiply_piece(tiles, rows, part, columns, {step, std::min(block_steps_, steps_ - step)},
                       strips, memory);
    }
  }

  // Of the rows of a panel, those of the next piece are fetched in the meantime.
  Lookahead<Access::read> next_piece(Range panel, Range rows, Range columns, Range steps) const {
    const bool same_rows = steps.begin + steps.count < steps_;
    const int64_t first = same_rows ? rows.begin : rows.begin + rows.count;
    const int64_t l = same_rows ? (steps.begin + steps.count) * kStepTerms : 0;
    const int64_t lines = std::min(piece_rows(), panel.begin + panel.count - first);
    return lines_ahead(rows_.from(first, l), lines, std::min(block_steps_ * kStepTerms, c_.k - l),
                       strips_of(rows.count) * strips_of(columns.count) * steps.count);
  }

  void multiply_piece(Tiles& tiles, Range panel, Range rows, Range columns, Range steps,
                      const uint32_t* strips, const Memory& memory) const {
    const std::array<StripView, kMostPieceStrips> a = piece_of_rows(rows, steps, memory.piece);
    const bool last = steps.begin + steps.count == steps_;
    Lookahead<Access::read> next = next_piece(panel, rows, columns, steps);
    for (int64_t first = 0; first < columns.count; first += kGroupColumns) {
      const int64_t end = std::min(first + kGroupColumns, columns.count);
      for (int64_t i = 0; i < rows.count; i += kStripLines) {
        for (int64_t j = first; j < end; j += kStripLines) {
          const StripView b = StripView::packed(
              strips + j / kStripLines * strip_pairs() + steps.begin * step_pairs(Parts), Parts);
          Target target = target_of(rows.begin + i, i, columns.begin + j, j, last, memory);
          target.rows = std::min(kStripLines, rows.count - i);
          target.columns = std::min(kStripLines, columns.count - j);
          target.accumulate = steps.begin > 0;
          multiply_strips<Parts>(tiles, steps.count, a[static_cast<size_t>(i / kStripLines)], b,
                                 target, next);
        }
      }
    }
  }

  // Where element (i, j) of the result goes, which is (row, column) of the piece.
  Target target_of(int64_t i, int64_t row, int64_t j, int64_t column, bool last,
                   const Memory& memory) const {
    Target target{};
    const int64_t at = i * c_.ld + j;
    if (c_.rounded == nullptr) {
      target.sums = c_.sums + at;
      target.sums_ld = c_.ld;
      return target;
    }
    if (sums_wait()) target.sums = memory.sums + row * panel_columns_ + column;
    target.sums_ld = panel_columns_;
    if (last) target.rounded = c_.rounded + at;
    target.rounded_ld = c_.ld;
    return target;
  }

  // The strips of these rows, in so many steps: packed, unless tiles can read them as they are.
  std::array<StripView, kMostPieceStrips> piece_of_rows(Range rows, Range steps,
                                                        uint32_t* piece) const {
    const int64_t l = steps.begin * kStepTerms;
    const int64_t terms = std::min(steps.count * kStepTerms, c_.k - l);
    const Lines<T> from = rows_.from(rows.begin, l);
    const int64_t in_place = whole_strips(from, rows, steps, terms);
    std::array<StripView, kMostPieceStrips> strips;
    for (int64_t i = 0; i < strips_of(rows.count); ++i) {
      uint32_t* to = piece + i * steps.count * step_pairs(Parts);
      strips[static_cast<size_t>(i)] =
          i < in_place ? StripView::in_place(from.from(i * kStripLines, 0).data,
                                             from.line_step * int64_t{sizeof(T)})
                       : StripView::packed(to, Parts);
    }
    const int64_t strip = steps.count * step_pairs(Parts), packed = in_place * kStripLines;
    pack_strips<Parts, true>(from.from(packed, 0), rows.count - packed, terms, strip,
                             piece + in_place * strip);
    return strips;
  }

  // How many of a piece's strips, from the first on, tiles can read as they are.
  int64_t whole_strips(const Lines<T>& from, Range rows, Range steps, int64_t terms) const {
    if constexpr (std::is_same_v<T, bf16>) {
      if (terms == steps.count * kStepTerms && has_tiles(from)) return rows.count / kStripLines;
    }
    return 0;
  }

  Lines<T> rows_, columns_;
  Result c_;
  int64_t steps_, block_steps_, piece_strips_, strips_at_once_;
  int64_t panel_rows_ = 0, panel_columns_ = 0;
};

template <int Parts, typename T>
void multiply_batch(ConstView a, ConstView b, View out) {
  const cpu::BlasMatrix<const T> left = blas_matrix<T>(a), right = blas_matrix<T>(b);
  const int64_t m = out.size(-2), n = out.size(-1), k = a.size(-1);
  for (int64_t index = 0; index < batch_size(out); ++index) {
    const Lines<T> rows{left.data + batch_offset(a, index), left.transposed ? 1 : left.ld,
                        left.transposed ? left.ld : 1};
    const Lines<T> columns{right.data + batch_offset(b, index), right.transposed ? right.ld : 1,
                           right.transposed ? 1 : right.ld};
    const int64_t at = batch_offset(out, index);
    const bool rounded = out.dtype == DType::bf16;
    const Result c{m,
                   n,
                   k,
                   rounded ? nullptr : out.as<float>() + at,
                   rounded ? out.as<bf16>() + at : nullptr,
                   m <= 1 ? n : out.stride(-2)};
    if (SplitProduct<Parts, T>::suits(c)) {
      SplitProduct<Parts, T>(rows, columns, c).run();
    } else {
      Product<Parts, T>(rows, columns, c).run();
    }
  }
}

}  // namespace

void multiply_bf16(ConstView a, ConstView b, View out, int parts) {
  if (a.dtype == DType::bf16) return multiply_batch<1, bf16>(a, b, out);
  parts == 1 ? multiply_batch<1, float>(a, b, out) : multiply_batch<2, float>(a, b, out);
}

}  // namespace tapir::TAPIR_ISA
