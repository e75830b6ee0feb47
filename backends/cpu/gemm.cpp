// Batched matrix products.
#include <algorithm>
#include <limits>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/f32_copy.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/product.h"

namespace tapir::TAPIR_ISA {
namespace {

// A matrix in the form that BLAS wants, from the last two axes of a view. In degenerate sizes the
// stride of a view may be anything, while BLAS still wants a leading dimension that fits.
template <typename T>
cpu::BlasMatrix<const T> blas_matrix(ConstView x) {
  const int64_t rows = x.size(-2), columns = x.size(-1);
  const bool by_rows =
      (x.stride(-1) == 1 || columns <= 1) && (x.stride(-2) >= columns || rows <= 1);
  const int64_t step = by_rows ? x.stride(-2) : x.stride(-1);
  const bool one_line = (by_rows ? rows : columns) <= 1;
  const int64_t line = std::max<int64_t>(1, by_rows ? columns : rows);
  return {x.as<T>(), one_line ? line : step, !by_rows};
}

// The offset of the index-th matrix of a batch.
int64_t batch_offset(ConstView x, int64_t index) {
  int64_t offset = 0;
  for (int axis = x.rank() - 3; axis >= 0; --axis) {
    offset += index % x.shape[axis] * x.strides[axis];
    index /= x.shape[axis];
  }
  return offset;
}

int64_t batch_size(ConstView x) {
  int64_t count = 1;
  for (int axis = 0; axis + 2 < x.rank(); ++axis) count *= x.shape[axis];
  return count;
}

// Whether the matrices of a batch lie so that they form one matrix with more rows.
bool rows_continue(ConstView x) {
  if (x.size(-1) > 1 && x.stride(-1) != 1) return false;
  int64_t rows = x.size(-2);
  for (int axis = x.rank() - 3; axis >= 0; --axis) {
    if (x.shape[axis] != 1 && x.strides[axis] != rows * x.stride(-2)) return false;
    rows *= x.shape[axis];
  }
  return true;
}

bool is_one_matrix(ConstView x) {
  for (int axis = 0; axis + 2 < x.rank(); ++axis) {
    if (x.shape[axis] != 1 && x.strides[axis] != 0) return false;
  }
  return true;
}

template <typename ViewType>
ViewType as_one_matrix(const ViewType& x, int64_t rows) {
  return {x.data, x.dtype, {rows, x.size(-1)}, {x.stride(-2), x.stride(-1)}};
}

// With one b for the whole batch, and rows of a and out that continue from matrix to matrix: makes
// one product of the batch.
void merge_batch(ConstView& a, ConstView& b, View& out) {
  if (a.rank() == 2 || !is_one_matrix(b) || !rows_continue(a) || !rows_continue(out)) return;
  const int64_t rows = batch_size(a) * a.size(-2);
  a = as_one_matrix(a, rows);
  b = as_one_matrix(b, b.size(-2));
  out = as_one_matrix(out, rows);
}

// How a product [m, k] [k, n] is cut into panels of its result, by the shape alone: enough to
// occupy many threads, none so small that packing its operands dominates. Panels that OpenBLAS
// multiplies without packing, which it does below a million multiplications unless b is
// transposed, may be smaller.
struct Panels {
  int64_t rows, columns;

  Panels(int64_t batch, int64_t m, int64_t n, int64_t k, bool b_transposed) : rows(m), columns(n) {
    constexpr int64_t kMostPanels = 64;
    const bool unpacked = !b_transposed && 64 * 64 * k <= 1000000;
    const double panel_work = unpacked ? 8e5 : 3e6;  // multiplications
    const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
    const int64_t wanted = std::min<int64_t>(static_cast<int64_t>(std::min(work / panel_work, 1e6)),
                                             kMostPanels / batch);
    if (unpacked) split(m, n, wanted, 64);
    // The shorter the sides, the slower, so they get short only as long as panels are few.
    split(m, n, wanted, 128);
    split(m, n, std::min<int64_t>(wanted, 16), 96);
    split(m, n, std::min<int64_t>(wanted, 4), 64);
  }

  // Halves the longer side until there are `wanted` panels or both sides reach `shortest`.
  void split(int64_t m, int64_t n, int64_t wanted, int64_t shortest) {
    while (count(m, n) < wanted && std::max(rows, columns) >= 2 * shortest) {
      int64_t& longer = rows >= columns ? rows : columns;
      longer = (longer / 2 + 15) / 16 * 16;
    }
  }

  int64_t count(int64_t m, int64_t n) const { return row_count(m) * column_count(n); }
  int64_t row_count(int64_t m) const { return (m + rows - 1) / rows; }
  int64_t column_count(int64_t n) const { return (n + columns - 1) / columns; }
};

bool fits_blas(int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc) {
  return std::max({m, n, k, lda, ldb, ldc}) <= std::numeric_limits<int>::max();
}

template <typename T>
void multiply(ConstView a, ConstView b, View out) {
  const int64_t m = out.size(-2), n = out.size(-1), k = a.size(-1), batch = batch_size(out);
  const auto left = blas_matrix<T>(a), right = blas_matrix<T>(b);
  const int64_t out_ld = m <= 1 ? n : out.stride(-2);
  const Panels panels(batch, m, n, k, right.transposed);
  const bool loops = !fits_blas(m, n, k, left.ld, right.ld, out_ld);
  if (!loops && !is_small_product(panels.rows, panels.columns, k)) cpu::load_blas();
  const int64_t per_matrix = panels.count(m, n), per_row = panels.column_count(n);
  const int64_t work = panels.rows * panels.columns * k;
  cpu::parallel_for(batch * per_matrix, work / 8, [&](int64_t item) {
    const int64_t index = item / per_matrix, panel = item % per_matrix;
    const int64_t i = panel / per_row * panels.rows, j = panel % per_row * panels.columns;
    cpu::BlasMatrix<const T> x = left, y = right;
    x.data += batch_offset(a, index) + i * (x.transposed ? 1 : x.ld);
    y.data += batch_offset(b, index) + j * (y.transposed ? y.ld : 1);
    const cpu::BlasMatrix<T> z{out.as<T>() + batch_offset(out, index) + i * out_ld + j, out_ld};
    const int64_t rows = std::min(panels.rows, m - i), columns = std::min(panels.columns, n - j);
    if (loops || is_small_product(panels.rows, panels.columns, k)) {
      small_product(rows, columns, k, T(1), x, y, T(0), z);
    } else {
      cpu::gemm(rows, columns, k, T(1), x, y, T(0), z);
    }
  });
}

// Whether the product is of few rows with a matrix stored by columns, as a linear layer's is for a
// token or two: then reading the matrix takes all the time, and it is best read once, as it is.
bool is_few_rows(ConstView a, ConstView b) {
  constexpr int64_t kFewRows = 4;
  return a.size(-2) <= kFewRows && !blas_matrix<char>(a).transposed &&
         blas_matrix<char>(b).transposed;
}

template <typename T>
void multiply_few_rows(ConstView a, ConstView b, View out) {
  constexpr int64_t kColumns = 64;
  const int64_t m = out.size(-2), n = out.size(-1), k = a.size(-1);
  const int64_t blocks = (n + kColumns - 1) / kColumns;
  const auto left = blas_matrix<T>(a), right = blas_matrix<T>(b);
  cpu::parallel_for(batch_size(out) * blocks, m * k * kColumns / 4, [&](int64_t item) {
    const int64_t index = item / blocks, begin = item % blocks * kColumns;
    const T* rows = left.data + batch_offset(a, index);
    const T* columns = right.data + batch_offset(b, index);
    T* to = out.as<T>() + batch_offset(out, index);
    for (int64_t j = begin; j < std::min(n, begin + kColumns); ++j) {
      const T* column = columns + j * right.ld;
      for (int64_t i = 0; i < m; ++i) {
        const T* row = rows + i * left.ld;
        to[i * out.stride(-2) + j] = narrow<T>(
            lane_sum<Accum<T>>(k, [=](int64_t l) { return widen(row[l]) * widen(column[l]); }));
      }
    }
  });
}

// A view whose every element is stored once: broadcast leading axes get size 1, and a matrix
// stored by columns is seen transposed, so that its dense copy keeps its layout.
struct Stored {
  ConstView view;
  bool transposed;

  explicit Stored(ConstView x) : view(x), transposed(blas_matrix<char>(x).transposed) {
    for (int axis = 0; axis + 2 < x.rank(); ++axis) {
      if (x.strides[axis] == 0) view.shape[axis] = 1;
    }
    if (transposed) swap_last_axes(view);
  }

  // `copy` of the stored elements, with the geometry of the original x.
  ConstView like(ConstView x, ConstView copy) const {
    if (transposed) swap_last_axes(copy);
    for (int axis = 0; axis + 2 < x.rank(); ++axis) {
      if (x.strides[axis] == 0) copy.strides[axis] = 0;
    }
    copy.shape = x.shape;
    return copy;
  }

  static void swap_last_axes(ConstView& x) {
    const int last = x.rank() - 1;
    std::swap(x.shape[last], x.shape[last - 1]);
    std::swap(x.strides[last], x.strides[last - 1]);
  }
};

}  // namespace

void CpuBackend::matmul(ConstView a, ConstView b, View out) const {
  if (out.numel() == 0) return;
  if (a.size(-1) == 0) return fill(0, out);
  merge_batch(a, b, out);
  if (is_few_rows(a, b)) {
    return dispatch_floating(out.dtype, "matmul",
                             [&]<typename T>() { multiply_few_rows<T>(a, b, out); });
  }
  if (out.dtype == DType::f64) return multiply<double>(a, b, out);
  if (out.dtype == DType::f32) return multiply<float>(a, b, out);
  const Stored stored_a(a), stored_b(b);
  const F32Copy wide_a(*this, stored_a.view), wide_b(*this, stored_b.view), wide_out(out.shape);
  multiply<float>(stored_a.like(a, wide_a.view()), stored_b.like(b, wide_b.view()),
                  wide_out.view());
  copy(wide_out.view(), out);
}

}  // namespace tapir::TAPIR_ISA
