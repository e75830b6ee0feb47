// Small matrix products on one thread, for the kernels that make large ones out of them.
#pragma once

#include <algorithm>
#include <type_traits>

#include "backends/cpu/blas.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/packed_product.h"

namespace tapir::TAPIR_ISA {

// c = alpha * a b + beta * c with plain loops: for products too small to be worth a library call.
template <typename T>
inline void small_product(int64_t m, int64_t n, int64_t k, T alpha, cpu::BlasMatrix<const T> a,
                          cpu::BlasMatrix<const T> b, T beta, cpu::BlasMatrix<T> c) {
  const int64_t a_row = a.transposed ? 1 : a.ld, a_column = a.transposed ? a.ld : 1;
  for (int64_t i = 0; i < m; ++i) {
    T* row = c.data + i * c.ld;
    const T* from = a.data + i * a_row;
    if (b.transposed) {  // the columns of b are consecutive: one inner product per element
      for (int64_t j = 0; j < n; ++j) {
        const T* column = b.data + j * b.ld;
        const T sum =
            a_column == 1
                ? lane_sum<T>(k, [=](int64_t l) { return from[l] * column[l]; })
                : lane_sum<T>(k, [=](int64_t l) { return from[l * a_column] * column[l]; });
        row[j] = beta == T(0) ? alpha * sum : alpha * sum + beta * row[j];
      }
      continue;
    }
    for (int64_t j = 0; j < n; ++j) row[j] = beta == T(0) ? T(0) : beta * row[j];
    for (int64_t l = 0; l < k; ++l) {  // the rows of b are consecutive: add them up
      const T factor = alpha * from[l * a_column];
      const T* values = b.data + l * b.ld;
#pragma omp simd
      for (int64_t j = 0; j < n; ++j) row[j] += factor * values[j];
    }
  }
}

// Whether plain loops take less time than packing, or than a call of OpenBLAS.
inline bool is_small_product(int64_t m, int64_t n, int64_t k) {
  return m * n * k <= 4096 || m == 1;
}

// How many elements of working memory `product` needs.
template <typename T>
inline int64_t product_memory(int64_t m, int64_t n, int64_t k) {
  return std::is_same_v<T, float> ? packed_product_memory(m, n, k) : 0;
}

// c = alpha * a b + beta * c with beta 0 or 1, by whichever way is faster; decided by the type and
// the shape alone. cpu::load_blas() must have returned before, unless T is float.
template <typename T>
inline void product(int64_t m, int64_t n, int64_t k, T alpha, cpu::BlasMatrix<const T> a,
                    cpu::BlasMatrix<const T> b, T beta, cpu::BlasMatrix<T> c, T* memory) {
  if (is_small_product(m, n, k)) {
    small_product(m, n, k, alpha, a, b, beta, c);
  } else if constexpr (std::is_same_v<T, float>) {
    packed_product(m, n, k, alpha, a, b, beta != 0, c, memory);
  } else {
    cpu::gemm(m, n, k, alpha, a, b, beta, c);
  }
}

}  // namespace tapir::TAPIR_ISA
