// Batched matrix products.
#include <algorithm>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/f32_copy.h"
#include "backends/cpu/gemm_panels.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/matrix_view.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/row_product.h"
#include "backends/matmul_precision.h"

namespace tapir::TAPIR_ISA {
namespace {

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

// Whether the product is of few rows with a matrix stored by columns, as a linear layer's is for a
// token or two: then reading the matrix takes all the time, and it is best read once, as it is.
bool is_few_rows(ConstView a, ConstView b) {
  const int64_t most = a.dtype == DType::f32 ? kFewRows : 4;
  return a.size(-2) <= most && !blas_matrix<char>(a).transposed && blas_matrix<char>(b).transposed;
}

// Elements of the result from `begin` to `end` of every row.
template <typename T>
void few_rows(int64_t m, int64_t k, cpu::BlasMatrix<const T> a, cpu::BlasMatrix<const T> b,
              int64_t begin, int64_t end, T* out, int64_t out_step) {
  for (int64_t j = begin; j < end; ++j) {
    const T* column = b.data + j * b.ld;
    if constexpr (std::is_same_v<T, float>) {
      row_products(m, k, column, a.data, a.ld, out + j, out_step);
    } else {
      for (int64_t i = 0; i < m; ++i) {
        const T* row = a.data + i * a.ld;
        out[i * out_step + j] = narrow<T>(
            lane_sum<Accum<T>>(k, [=](int64_t l) { return widen(row[l]) * widen(column[l]); }));
      }
    }
  }
}

template <typename T>
void multiply_few_rows(ConstView a, ConstView b, View out) {
  const int64_t m = out.size(-2), n = out.size(-1), k = a.size(-1);
  const int64_t blocks = (n + kWeightRows - 1) / kWeightRows;
  const auto left = blas_matrix<T>(a), right = blas_matrix<T>(b);
  cpu::parallel_for(batch_size(out) * blocks, m * k * kWeightRows / 4, [&](int64_t item) {
    const int64_t index = item / blocks, begin = item % blocks * kWeightRows;
    few_rows<T>(m, k, {left.data + batch_offset(a, index), left.ld},
                {right.data + batch_offset(b, index), right.ld}, begin,
                std::min(n, begin + kWeightRows), out.as<T>() + batch_offset(out, index),
                out.stride(-2));
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

// Of how many bf16 each number of an operand is made up for products of bf16; 0: products are f32.
int bf16_parts(DType dtype) {
  if (dtype == DType::bf16) return 1;
  if (dtype != DType::f32 || matmul_precision() == MatmulPrecision::highest) return 0;
  return matmul_precision() == MatmulPrecision::high ? 2 : 1;
}

// Whether products of bf16 take less time, whose operands are packed in squares of 32.
bool suits_bf16(ConstView out, int64_t k) {
  const int64_t m = out.size(-2), n = out.size(-1);
  return std::min(m, n) >= 8 && m * n * k >= 32 * 32 * 32;
}

}  // namespace

void CpuBackend::matmul(ConstView a, ConstView b, View out) const {
  if (out.numel() == 0) return;
  if (a.size(-1) == 0) return fill(0, out);
  merge_batch(a, b, out);
  if (is_few_rows(a, b)) {
    return dispatch_floating(out.dtype, "matmul",
                             [&]<typename T>() { multiply_few_rows<T>(a, b, out); });
  }
  if (out.dtype == DType::f64) return multiply_f64(a, b, out);
  const int parts =
      bf16_.product != nullptr && suits_bf16(out, a.size(-1)) ? bf16_parts(out.dtype) : 0;
  if (parts > 0) return bf16_.product(a, b, out, parts);
  if (out.dtype == DType::f32) return multiply_f32(a, b, out);
  const Stored stored_a(a), stored_b(b);
  const F32Copy wide_a(*this, stored_a.view), wide_b(*this, stored_b.view), wide_out(out.shape);
  multiply_f32(stored_a.like(a, wide_a.view()), stored_b.like(b, wide_b.view()), wide_out.view());
  copy(wide_out.view(), out);
}

}  // namespace tapir::TAPIR_ISA
