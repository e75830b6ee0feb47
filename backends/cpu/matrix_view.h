// Views seen as matrices, and as batches of them.
#pragma once

#include <algorithm>

#include "backends/cpu/blas.h"
#include "backends/view.h"

namespace tapir::TAPIR_ISA {

// A matrix in the form that BLAS wants, from the last two axes of a view. In degenerate sizes the
// stride of a view may be anything, while BLAS still wants a leading dimension that fits.
template <typename T>
inline cpu::BlasMatrix<const T> blas_matrix(ConstView x) {
  const int64_t rows = x.size(-2), columns = x.size(-1);
  const bool by_rows =
      (x.stride(-1) == 1 || columns <= 1) && (x.stride(-2) >= columns || rows <= 1);
  const int64_t step = by_rows ? x.stride(-2) : x.stride(-1);
  const bool one_line = (by_rows ? rows : columns) <= 1;
  const int64_t line = std::max<int64_t>(1, by_rows ? columns : rows);
  return {x.as<T>(), one_line ? line : step, !by_rows};
}

// The offset of the index-th matrix of a batch.
inline int64_t batch_offset(ConstView x, int64_t index) {
  int64_t offset = 0;
  for (int axis = x.rank() - 3; axis >= 0; --axis) {
    offset += index % x.shape[axis] * x.strides[axis];
    index /= x.shape[axis];
  }
  return offset;
}

inline int64_t batch_size(ConstView x) {
  int64_t count = 1;
  for (int axis = 0; axis + 2 < x.rank(); ++axis) count *= x.shape[axis];
  return count;
}

}  // namespace tapir::TAPIR_ISA
