// Products of matrices from products of bf16 with sums in f32, by AMX. docs/cpu_kernels.md explains
// them.
#pragma once

#include "backends/view.h"

namespace tapir::TAPIR_ISA {

// out = a b; views as Backend::matmul takes them, none of them empty. Operands of bf16 are taken as
// they are, and out is f32 or bf16, rounded once. Of f32 operands out is f32: with one part the
// numbers are rounded to bf16, with two parts each is the sum of two bf16, and of the four products
// the smallest is left out ("bf16x3"). Infinite elements of f32 operands make results that are
// infinite or NaN.
void multiply_bf16(ConstView a, ConstView b, View out, int parts);

}  // namespace tapir::TAPIR_ISA
