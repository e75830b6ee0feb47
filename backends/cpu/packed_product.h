// Products of f32 matrices on one thread, by our own kernels. Source: Goto and van de Geijn 2008,
// "Anatomy of high-performance matrix multiplication"; docs/cpu_kernels.md explains it.
#pragma once

#include "backends/cpu/blas.h"

namespace tapir::TAPIR_ISA {

// How many floats of working memory packed_product needs for an [m, k] [k, n] product.
int64_t packed_product_memory(int64_t m, int64_t n, int64_t k);

// c = alpha * a b, or c += alpha * a b; a [m, k], b [k, n], c [m, n] not transposed, k > 0. Each
// element of c is computed in the same order whatever m and n are, so cutting the result into
// panels in any way gives the same bits.
void packed_product(int64_t m, int64_t n, int64_t k, float alpha, cpu::BlasMatrix<const float> a,
                    cpu::BlasMatrix<const float> b, bool accumulate, cpu::BlasMatrix<float> c,
                    float* memory);

// to[j * to_ld + i] = from[i * ld + j] for i < rows, j < columns. Whole vectors are written: to_ld
// must be at least `rows` rounded up to a multiple of 16, and what lies between becomes 0.
void transpose(int64_t rows, int64_t columns, const float* from, int64_t ld, float* to,
               int64_t to_ld);

}  // namespace tapir::TAPIR_ISA
