// Products of matrices from products of bf16 with sums in f32, by AMX. docs/cpu_kernels.md explains
// them.
#pragma once

#include "backends/view.h"

namespace tapir::TAPIR_ISA {

// out = a b in f32; views as Backend::matmul takes them, none of them empty; a and b both f32 or
// both bf16. With one part the numbers of f32 operands are rounded to bf16. With two parts each is
// the sum of two bf16, and of the four products the smallest is left out ("bf16x3"). Infinite
// elements of f32 operands make results that are infinite or NaN.
void multiply_bf16(ConstView a, ConstView b, View out, int parts);

}  // namespace tapir::TAPIR_ISA
