#include "backends/cpu/gemm_panels.h"

#include <algorithm>
#include <limits>

#include "backends/cpu/allocator.h"
#include "backends/cpu/matrix_view.h"
#include "backends/cpu/packed_product.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/product.h"
#include "backends/cpu/tile_product.h"

namespace tapir::TAPIR_ISA {
namespace {

// A batch of products [m, k] [k, n], with its result cut into panels of `rows` by `columns`.
template <typename T>
struct Panels {
  ConstView a, b;
  View out;
  cpu::BlasMatrix<const T> left, right;
  int64_t batch, m, n, k, out_ld;
  int64_t rows, columns;

  Panels(ConstView a_view, ConstView b_view, View out_view)
      : a(a_view),
        b(b_view),
        out(out_view),
        left(blas_matrix<T>(a)),
        right(blas_matrix<T>(b)),
        batch(batch_size(out)),
        m(out.size(-2)),
        n(out.size(-1)),
        k(a.size(-1)),
        out_ld(m <= 1 ? n : out.stride(-2)),
        rows(m),
        columns(n) {}

  int64_t row_count() const { return (m + rows - 1) / rows; }
  int64_t column_count() const { return (n + columns - 1) / columns; }
  int64_t per_result() const { return row_count() * column_count(); }

  // Calls body(rows, columns, panel of a, panel of b, panel of out, worker) for every panel.
  template <typename Body>
  void for_each(Body body) const {
    const int64_t count = per_result(), per_row = column_count();
    cpu::parallel_for(batch * count, rows * columns * k / 8, [&](int64_t item, int worker) {
      const int64_t index = item / count, panel = item % count;
      const int64_t i = panel / per_row * rows, j = panel % per_row * columns;
      cpu::BlasMatrix<const T> x = left, y = right;
      x.data += batch_offset(a, index) + i * (x.transposed ? 1 : x.ld);
      y.data += batch_offset(b, index) + j * (y.transposed ? y.ld : 1);
      const cpu::BlasMatrix<T> z{out.as<T>() + batch_offset(out, index) + i * out_ld + j, out_ld};
      body(std::min(rows, m - i), std::min(columns, n - j), x, y, z, worker);
    });
  }
};

// Halves the longer side until there are `wanted` panels or both sides reach `shortest`.
template <typename T>
void split(Panels<T>& panels, int64_t wanted, int64_t shortest) {
  while (panels.per_result() < wanted && std::max(panels.rows, panels.columns) >= 2 * shortest) {
    int64_t& longer = panels.rows >= panels.columns ? panels.rows : panels.columns;
    longer = (longer / 2 + 15) / 16 * 16;
  }
}

// Panels for OpenBLAS, by the shape alone, because its results depend on how they are cut: enough
// to occupy many threads, none so small that packing its operands dominates. Panels that OpenBLAS
// multiplies without packing, which it does below a million multiplications unless b is
// transposed, may be smaller.
template <typename T>
void cut_by_shape(Panels<T>& panels) {
  constexpr int64_t kMostPanels = 64;
  const bool unpacked = !panels.right.transposed && 64 * 64 * panels.k <= 1000000;
  const double panel_work = unpacked ? 8e5 : 3e6;  // multiplications
  const double work =
      static_cast<double>(panels.m) * static_cast<double>(panels.n) * static_cast<double>(panels.k);
  const int64_t wanted = std::min<int64_t>(static_cast<int64_t>(std::min(work / panel_work, 1e6)),
                                           kMostPanels / panels.batch);
  if (unpacked) split(panels, wanted, 64);
  // The shorter the sides, the slower, so they get short only as long as panels are few.
  split(panels, wanted, 128);
  split(panels, std::min<int64_t>(wanted, 16), 96);
  split(panels, std::min<int64_t>(wanted, 4), 64);
}

// How long a panel takes our own kernel for each of the k terms, in multiplications: packing an
// element takes as long as six.
double panel_time(int64_t rows, int64_t columns) {
  return static_cast<double>(rows * columns + 6 * (rows + columns));
}

// Panels for our own kernel, whose bits do not depend on how the result is cut: as many as keep
// the threads busy to the end, with little packed twice.
void cut_for_threads(Panels<float>& panels) {
  constexpr double kStart = 20000;  // multiplications that take as long as starting a panel
  // What the slowest thread does more than others: the share of a panel, as other processes on the
  // machine make it.
  constexpr double kLate = 0.15;
  const int64_t workers = cpu::threads(), m = panels.m, n = panels.n;
  double best = std::numeric_limits<double>::infinity();
  for (int64_t r = 1; r <= std::min(4 * workers, m); ++r) {
    for (int64_t c = 1; r * c <= 4 * workers && c <= n; ++c) {
      const int64_t rows = (m + r - 1) / r;
      const int64_t columns = ((n + c - 1) / c + kTileColumns - 1) / kTileColumns * kTileColumns;
      const auto rounds = static_cast<double>((panels.batch * r * c + workers - 1) / workers);
      const double panel = panel_time(rows, columns) * static_cast<double>(panels.k) + kStart;
      if ((rounds + kLate) * panel >= best) continue;
      best = (rounds + kLate) * panel;
      panels.rows = rows;
      panels.columns = columns;
    }
  }
}

bool fits_blas(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc) {
  return std::max({m, n, k, lda, ldb, ldc}) <= std::numeric_limits<int>::max();
}

template <typename T>
void multiply_small(Panels<T> panels) {
  cut_by_shape(panels);
  panels.for_each([k = panels.k](int64_t rows, int64_t columns, auto a, auto b, auto c, int) {
    small_product(rows, columns, k, T(1), a, b, T(0), c);
  });
}

}  // namespace

void multiply_f32(ConstView a, ConstView b, View out) {
  Panels<float> panels(a, b, out);
  if (is_small_product(panels.m, panels.n, panels.k)) return multiply_small(panels);
  cut_for_threads(panels);
  const int64_t k = panels.k, size = packed_product_memory(panels.rows, panels.columns, k);
  const cpu::Scratch<float> memory(cpu::threads() * size);
  panels.for_each([&](int64_t rows, int64_t columns, auto x, auto y, auto z, int worker) {
    packed_product(rows, columns, k, 1, x, y, false, z, memory.data() + worker * size);
  });
}

void multiply_f64(ConstView a, ConstView b, View out) {
  Panels<double> panels(a, b, out);
  const int64_t k = panels.k;
  if (is_small_product(panels.m, panels.n, k) ||
      !fits_blas(panels.m, panels.n, k, panels.left.ld, panels.right.ld, panels.out_ld)) {
    return multiply_small(panels);
  }
  cpu::load_blas();
  cut_by_shape(panels);
  panels.for_each([k](int64_t rows, int64_t columns, auto x, auto y, auto z, int) {
    cpu::gemm(rows, columns, k, 1.0, x, y, 0.0, z);
  });
}

}  // namespace tapir::TAPIR_ISA
