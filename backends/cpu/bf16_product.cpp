#include "backends/cpu/bf16_product.h"

#include <algorithm>
#include <array>
#include <limits>

#include "backends/cpu/allocator.h"
#include "backends/cpu/bf16_strips.h"
#include "backends/cpu/matrix_view.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {
namespace {

// Sizes of what is packed at a time: a piece of a stays in the second-level cache; of a strip as
// deep as a block the larger part stays in the first-level one.
constexpr int64_t kPieceStrips = 4, kBlockSteps = 16;
constexpr int64_t kColumnsBytes = int64_t{16} << 20;  // of b

int64_t divide_up(int64_t size, int64_t piece) {
  return (size + piece - 1) / piece;
}

// Where a product of two strips goes. The first product of an element overwrites it.
struct Target {
  float* c;
  int64_t ld;
  int64_t rows, columns;
  bool accumulate;
};

template <int RowTiles, int ColumnTiles>
void load_or_zero(Tiles& tiles, const float* c, int64_t ld, bool accumulate) {
  const int64_t step = ld * int64_t{sizeof(float)};
  const float* lower = c + kTileSide * ld;
  if (accumulate) {
    tiles.load<0>(c, step);
    if constexpr (ColumnTiles == 2) tiles.load<1>(c + kTileSide, step);
    if constexpr (RowTiles == 2) tiles.load<2>(lower, step);
    if constexpr (RowTiles == 2 && ColumnTiles == 2) tiles.load<3>(lower + kTileSide, step);
  } else {
    tiles.zero<0>();
    tiles.zero<1>();
    tiles.zero<2>();
    tiles.zero<3>();
  }
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

template <int RowTiles>
void load_a(Tiles& tiles, const uint32_t* a) {
  constexpr int64_t kStep = kTileSide * int64_t{sizeof(uint32_t)};
  tiles.load<4>(a, kStep);
  if constexpr (RowTiles == 2) tiles.load<5>(a + kTilePairs, kStep);
}

template <int ColumnTiles>
void load_b(Tiles& tiles, const uint32_t* b) {
  constexpr int64_t kStep = kTileSide * int64_t{sizeof(uint32_t)};
  tiles.load<6>(b, kStep);
  if constexpr (ColumnTiles == 2) tiles.load<7>(b + kTilePairs, kStep);
}

// Two by two tiles of sums take four loads for four multiplications.
template <int RowTiles, int ColumnTiles>
void multiply_add(Tiles& tiles) {
  tiles.multiply_add<0, 4, 6>();
  if constexpr (ColumnTiles == 2) tiles.multiply_add<1, 4, 7>();
  if constexpr (RowTiles == 2) tiles.multiply_add<2, 5, 6>();
  if constexpr (RowTiles == 2 && ColumnTiles == 2) tiles.multiply_add<3, 5, 7>();
}

// With two parts, from one product to the next only one operand is loaded.
template <int Parts, int RowTiles, int ColumnTiles>
void multiply_steps(Tiles& tiles, int64_t steps, const uint32_t* a, const uint32_t* b) {
  constexpr int64_t kRest = 2 * kTilePairs;
  for (int64_t step = 0; step < steps; ++step) {
    load_a<RowTiles>(tiles, a);
    if constexpr (Parts == 2) {
      load_b<ColumnTiles>(tiles, b + kRest);
      multiply_add<RowTiles, ColumnTiles>(tiles);
    }
    load_b<ColumnTiles>(tiles, b);
    multiply_add<RowTiles, ColumnTiles>(tiles);
    if constexpr (Parts == 2) {
      load_a<RowTiles>(tiles, a + kRest);
      multiply_add<RowTiles, ColumnTiles>(tiles);
    }
    a += step_pairs(Parts);
    b += step_pairs(Parts);
  }
}

void copy(int64_t rows, int64_t columns, const float* from, int64_t from_ld, float* to,
          int64_t to_ld) {
  for (int64_t i = 0; i < rows; ++i) std::copy_n(from + i * from_ld, columns, to + i * to_ld);
}

template <int Parts, int RowTiles, int ColumnTiles>
void multiply_strips(Tiles& tiles, int64_t steps, const uint32_t* a, const uint32_t* b,
                     const Target& target) {
  if (target.rows == RowTiles * kTileSide && target.columns == ColumnTiles * kTileSide) {
    load_or_zero<RowTiles, ColumnTiles>(tiles, target.c, target.ld, target.accumulate);
    multiply_steps<Parts, RowTiles, ColumnTiles>(tiles, steps, a, b);
    store<RowTiles, ColumnTiles>(tiles, target.c, target.ld);
    return;
  }
  alignas(64) float whole[kStripLines * kStripLines];
  if (target.accumulate) copy(target.rows, target.columns, target.c, target.ld, whole, kStripLines);
  load_or_zero<RowTiles, ColumnTiles>(tiles, whole, kStripLines, target.accumulate);
  multiply_steps<Parts, RowTiles, ColumnTiles>(tiles, steps, a, b);
  store<RowTiles, ColumnTiles>(tiles, whole, kStripLines);
  copy(target.rows, target.columns, whole, kStripLines, target.c, target.ld);
}

template <int Parts>
void multiply_target(Tiles& tiles, int64_t steps, const uint32_t* a, const uint32_t* b,
                     const Target& target) {
  const bool low = target.rows <= kTileSide, narrow = target.columns <= kTileSide;
  if (low) {
    narrow ? multiply_strips<Parts, 1, 1>(tiles, steps, a, b, target)
           : multiply_strips<Parts, 1, 2>(tiles, steps, a, b, target);
  } else {
    narrow ? multiply_strips<Parts, 2, 1>(tiles, steps, a, b, target)
           : multiply_strips<Parts, 2, 2>(tiles, steps, a, b, target);
  }
}

// c = a b of one matrix. The columns of b are packed by all threads, as many as fit a certain size;
// then panels of the result are computed, for which each thread packs the rows of a.
template <int Parts, typename T>
class Product {
 public:
  Product(Lines<T> rows, Lines<T> columns, int64_t m, int64_t n, int64_t k, float* c, int64_t ld)
      : rows_(rows), columns_(columns), m_(m), n_(n), k_(k), c_(c), ld_(ld) {
    const int64_t strip_bytes = depth_steps() * kStepBytes;
    block_strips_ = std::clamp<int64_t>(kColumnsBytes / strip_bytes, 1, divide_up(n_, kStripLines));
    cut_panels();
  }

  void run() const {
    const cpu::Scratch<uint32_t> columns(block_strips_ * strip_pairs());
    const cpu::Scratch<uint32_t> pieces(cpu::threads() * piece_pairs());
    for (int64_t j = 0; j < n_; j += block_strips_ * kStripLines) {
      const int64_t block = std::min(block_strips_ * kStripLines, n_ - j);
      pack_columns(j, block, columns.data());
      multiply_block(j, block, columns.data(), pieces.data());
    }
  }

 private:
  static constexpr int64_t kStepBytes = step_pairs(Parts) * int64_t{sizeof(uint32_t)};

  int64_t depth_steps() const { return divide_up(k_, kStepTerms); }
  int64_t strip_pairs() const { return depth_steps() * step_pairs(Parts); }
  int64_t piece_pairs() const {
    return kPieceStrips * std::min(depth_steps(), kBlockSteps) * step_pairs(Parts);
  }

  // As many panels as keep the threads busy to the end, with few rows packed twice.
  void cut_panels() {
    constexpr double kPack = 64;    // products that take as long as packing an element
    constexpr double kStart = 2e5;  // that take as long as starting a panel
    constexpr double kLate = 0.15;  // what the slowest thread does more than others, in panels
    const int64_t workers = cpu::threads();
    const int64_t columns_in_all = std::min(n_, block_strips_ * kStripLines);
    double best = std::numeric_limits<double>::infinity();
    for (int64_t r = 1; r <= 4 * workers; ++r) {
      for (int64_t c = 1; r * c <= 4 * workers; ++c) {
        const int64_t rows = divide_up(divide_up(m_, r), kStripLines) * kStripLines;
        const int64_t columns = divide_up(divide_up(columns_in_all, c), kStripLines) * kStripLines;
        const auto rounds = static_cast<double>(divide_up(r * c, workers));
        const double panel = static_cast<double>(k_) * static_cast<double>(rows) *
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
    cpu::parallel_for(divide_up(count, kStripLines), kStripLines * k_, [&](int64_t strip) {
      const int64_t first = strip * kStripLines;
      pack_strip<Parts, false>(columns_.from(j + first, 0), count - first, k_,
                               to + strip * strip_pairs());
    });
  }

  void multiply_block(int64_t j, int64_t count, const uint32_t* columns, uint32_t* pieces) const {
    const int64_t across = divide_up(count, panel_columns_), down = divide_up(m_, panel_rows_);
    const int64_t cost = panel_rows_ * panel_columns_ * k_ / 64;
    cpu::parallel_for(across * down, cost, [&](int64_t panel, int worker) {
      const int64_t i = panel / across * panel_rows_, first = panel % across * panel_columns_;
      const uint32_t* strips = columns + first / kStripLines * strip_pairs();
      multiply_panel({i, std::min(panel_rows_, m_ - i)},
                     {j + first, std::min(panel_columns_, count - first)}, strips,
                     pieces + worker * piece_pairs());
    });
  }

  struct Range {
    int64_t begin, count;
  };

  void multiply_panel(Range rows, Range columns, const uint32_t* strips, uint32_t* piece) const {
    Tiles tiles;
    for (int64_t i = 0; i < rows.count; i += kPieceStrips * kStripLines) {
      const Range part{rows.begin + i, std::min(kPieceStrips * kStripLines, rows.count - i)};
      for (int64_t step = 0; step < depth_steps(); step += kBlockSteps) {
        const int64_t steps = std::min(kBlockSteps, depth_steps() - step);
        pack_piece(part, step * kStepTerms, steps, piece);
        multiply_piece(tiles, part, columns, step, steps, strips, piece);
      }
    }
  }

  void pack_piece(Range rows, int64_t l, int64_t steps, uint32_t* piece) const {
    for (int64_t i = 0; i < rows.count; i += kStripLines) {
      pack_strip<Parts, true>(rows_.from(rows.begin + i, l), rows.count - i,
                              std::min(steps * kStepTerms, k_ - l), piece);
      piece += steps * step_pairs(Parts);
    }
  }

  void multiply_piece(Tiles& tiles, Range rows, Range columns, int64_t step, int64_t steps,
                      const uint32_t* strips, const uint32_t* piece) const {
    for (int64_t j = 0; j < columns.count; j += kStripLines) {
      const uint32_t* b = strips + j / kStripLines * strip_pairs() + step * step_pairs(Parts);
      for (int64_t i = 0; i < rows.count; i += kStripLines) {
        const uint32_t* a = piece + i / kStripLines * steps * step_pairs(Parts);
        multiply_target<Parts>(tiles, steps, a, b,
                               {c_ + (rows.begin + i) * ld_ + columns.begin + j, ld_,
                                std::min(kStripLines, rows.count - i),
                                std::min(kStripLines, columns.count - j), step > 0});
      }
    }
  }

  Lines<T> rows_, columns_;
  int64_t m_, n_, k_;
  float* c_;
  int64_t ld_;
  int64_t block_strips_ = 0, panel_rows_ = 0, panel_columns_ = 0;
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
    Product<Parts, T>(rows, columns, m, n, k, out.as<float>() + batch_offset(out, index),
                      m <= 1 ? n : out.stride(-2))
        .run();
  }
}

}  // namespace

void multiply_bf16(ConstView a, ConstView b, View out, int parts) {
  if (a.dtype == DType::bf16) return multiply_batch<1, bf16>(a, b, out);
  parts == 1 ? multiply_batch<1, float>(a, b, out) : multiply_batch<2, float>(a, b, out);
}

}  // namespace tapir::TAPIR_ISA
