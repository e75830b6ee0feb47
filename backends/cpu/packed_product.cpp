#include "backends/cpu/packed_product.h"

#include <algorithm>
#include <array>

#include "backends/cpu/tile_product.h"

namespace tapir::TAPIR_ISA {
namespace {

constexpr int64_t kLanes = FloatVector::kLanes;

// Sizes of the blocks that are packed at a time: one of a stays in the second-level cache, one of b
// in the third, a strip of b (kDepth by kTileColumns) mostly in the first.
constexpr int64_t kDepth = kLanes == 16 ? 512 : 384;
constexpr int64_t kBlockRows = 84, kBlockColumns = 2048;

// An operand that fewer strips of the other one than this are multiplied with is not packed, if it
// can be read as it is.
constexpr int64_t kFewStrips = 3;

// The size of the pieces when `size` is cut into as few equal ones as possible.
int64_t even_piece(int64_t size, int64_t largest) {
  const int64_t pieces = (size + largest - 1) / largest;
  return (size + pieces - 1) / pieces;
}

int64_t round_up(int64_t size, int64_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

// Rows of a, or columns of b: element l of line i at data[i * line_step + l * step], where one of
// the steps is 1.
struct Lines {
  const float* data;
  int64_t line_step, step;

  Lines from(int64_t line, int64_t l) const {
    return {data + line * line_step + l * step, line_step, step};
  }
};

// Packed lines lie in strips: element l of line i of a strip that starts at `to` is to[l * width +
// i].

// Packs up to kLanes lines whose elements are consecutive. Whole vectors are written, which reach
// beyond the lines; in the order of the strips, what belongs there is written afterwards.
void pack_transposed(const Lines& lines, int64_t count, int64_t k, int64_t width, float* to) {
  for (int64_t l = 0; l < k; l += kLanes) {
    const int64_t depth = std::min(kLanes, k - l);
    FloatVector square[kLanes];
    for (int64_t i = 0; i < kLanes; ++i) {
      const float* line = lines.data + i * lines.line_step + l;
      square[i] = i >= count        ? FloatVector::zero()
                  : depth == kLanes ? FloatVector::load(line)
                                    : FloatVector::load_first(line, depth);
    }
    transpose_square(square);
    for (int64_t i = 0; i < depth; ++i) square[i].store(to + (l + i) * width);
  }
}

// Packs up to kLanes lines whose l-th elements are consecutive. The next l is far away in memory,
// where the processor does not look by itself.
void pack_copied(const Lines& lines, int64_t count, int64_t k, int64_t width, float* to) {
  constexpr int64_t kAhead = 16;
  for (int64_t l = 0; l < k; ++l) {
    const float* from = lines.data + l * lines.step;
    _mm_prefetch(from + kAhead * lines.step, _MM_HINT_T0);
    FloatVector::load_first(from, count).store_first(to + l * width, count);
  }
}

void pack_lines(const Lines& lines, int64_t count, int64_t k, int64_t width, float* to) {
  if (lines.line_step == 1) return pack_copied(lines, count, k, width, to);
  pack_transposed(lines, count, k, width, to);
}

// Calls pack(first line, first l, count of l) for all strips of so many lines. Where the l-th
// elements of lines are consecutive, a few l of every strip come at a time: then memory is read
// from front to back.
template <typename PackStrip>
void pack_strips(const Lines& lines, int64_t count, int64_t k, int64_t strip, PackStrip pack) {
  const int64_t depth = lines.line_step == 1 ? 16 : k;
  for (int64_t l = 0; l < k; l += depth) {
    for (int64_t i = 0; i < count; i += strip) pack(i, l, std::min(depth, k - l));
  }
}

using Kernel = void (*)(int64_t k, const Strip& a, const Strip& b, const Tile& tile);

template <int Vectors, int... rows>
constexpr std::array<Kernel, kTileRows> kernels_of(std::integer_sequence<int, rows...>) {
  return {tile_product<rows + 1, Vectors>...};
}

// For a tile of so many rows and vectors.
Kernel kernel_for(int64_t rows, int64_t vectors) {
  using AllRows = std::make_integer_sequence<int, kTileRows>;
  static constexpr std::array kKernels = {kernels_of<1>(AllRows()), kernels_of<2>(AllRows())};
  return kKernels[static_cast<size_t>(vectors - 1)][static_cast<size_t>(rows - 1)];
}

// A block of an operand, cut into strips of equally many lines, the last one shorter. Packed strips
// follow each other; a strip of an operand that is read in place starts at its first line.
struct Block {
  const float* data;
  int64_t lines, k, strip;
  bool in_place;
  int64_t step;  // from l to l + 1, in place

  const float* strip_at(int64_t line) const { return data + line * (in_place ? 1 : k); }
  int64_t step_of(int64_t width) const { return in_place ? step : width; }
};

// Rows of a, in strips as high as a tile.
Block block_of_rows(const Lines& a, int64_t rows, int64_t k, bool in_place, float* memory) {
  const Block block{in_place ? a.data : memory,  rows,     k,
                    even_piece(rows, kTileRows), in_place, a.step};
  if (in_place) return block;
  pack_strips(a, rows, k, block.strip, [&](int64_t i, int64_t l, int64_t terms) {
    const int64_t height = std::min(block.strip, rows - i);
    pack_lines(a.from(i, l), height, terms, height, memory + i * k + l * height);
  });
  return block;
}

// Columns of b, in strips as wide as a tile, the last one of as many vectors as it needs.
Block block_of_columns(const Lines& b, int64_t columns, int64_t k, bool in_place, float* memory) {
  const Block block{in_place ? b.data : memory, columns, k, kTileColumns, in_place, b.step};
  if (in_place) return block;
  pack_strips(b, columns, k, kLanes, [&](int64_t j, int64_t l, int64_t terms) {
    const int64_t strip = j / kTileColumns * kTileColumns;
    const int64_t width = std::min(kTileColumns, round_up(columns - strip, kLanes));
    pack_lines(b.from(j, l), std::min(kLanes, columns - j), terms, width,
               memory + strip * k + l * width + (j - strip));
  });
  return block;
}

// The tiles of one block of the result.
void multiply_blocks(const Block& a, const Block& b, float alpha, bool accumulate,
                     cpu::BlasMatrix<float> c) {
  for (int64_t j = 0; j < b.lines; j += b.strip) {
    const int64_t columns = std::min(b.strip, b.lines - j), width = round_up(columns, kLanes);
    for (int64_t i = 0; i < a.lines; i += a.strip) {
      const int64_t rows = std::min(a.strip, a.lines - i);
      kernel_for(rows, width / kLanes)(a.k, {a.strip_at(i), a.step_of(rows)},
                                       {b.strip_at(j), b.step_of(width)},
                                       {c.data + i * c.ld + j, c.ld, columns, alpha, accumulate});
    }
  }
}

// Room for a packed block of each operand; pack_lines writes a vector more than there is.
int64_t rows_memory(int64_t m, int64_t k) {
  return round_up(std::min(m, kBlockRows) * std::min(k, kDepth) + kLanes, kLanes);
}
int64_t columns_memory(int64_t n, int64_t k) {
  return round_up(std::min(n, kBlockColumns), kLanes) * std::min(k, kDepth);
}

}  // namespace

int64_t packed_product_memory(int64_t m, int64_t n, int64_t k) {
  return rows_memory(m, k) + columns_memory(n, k);
}

void packed_product(int64_t m, int64_t n, int64_t k, float alpha, cpu::BlasMatrix<const float> a,
                    cpu::BlasMatrix<const float> b, bool accumulate, cpu::BlasMatrix<float> c,
                    float* memory) {
  const Lines rows{a.data, a.transposed ? 1 : a.ld, a.transposed ? a.ld : 1};
  const Lines columns{b.data, b.transposed ? b.ld : 1, b.transposed ? 1 : b.ld};
  const bool a_in_place = rows.line_step == 1 && n <= kFewStrips * kTileColumns;
  const bool b_in_place = columns.line_step == 1 && m <= kFewStrips * kTileRows && n % kLanes == 0;
  const int64_t depth = even_piece(k, kDepth), height = even_piece(m, kBlockRows);
  for (int64_t j = 0; j < n; j += kBlockColumns) {
    for (int64_t l = 0; l < k; l += depth) {
      const Block right =
          block_of_columns(columns.from(j, l), std::min(kBlockColumns, n - j),
                           std::min(depth, k - l), b_in_place, memory + rows_memory(m, k));
      for (int64_t i = 0; i < m; i += height) {
        const Block left =
            block_of_rows(rows.from(i, l), std::min(height, m - i), right.k, a_in_place, memory);
        multiply_blocks(left, right, alpha, accumulate || l > 0, {c.data + i * c.ld + j, c.ld});
      }
    }
  }
}

void transpose(int64_t rows, int64_t columns, const float* from, int64_t ld, float* to,
               int64_t to_ld) {
  for (int64_t i = 0; i < rows; i += kLanes)
    pack_transposed({from + i * ld, ld, 1}, std::min(kLanes, rows - i), columns, to_ld, to + i);
}

}  // namespace tapir::TAPIR_ISA
