// Attention of bf16 by AMX: products of bf16 with sums in f32, softmax in f32.
// docs/cpu_kernels.md explains it.
#pragma once

#include "backends/backend.h"

namespace tapir::TAPIR_ISA {

// As Backend::attention and its gradient, of tensors of bf16. Probabilities and the gradients of
// scores are rounded to bf16 before they are multiplied.
void attend_bf16(ConstView q, ConstView k, ConstView v, ConstView mask,
                 const AttentionOptions& options, View out, View lse);
void attend_bf16_backward(ConstView grad, ConstView q, ConstView k, ConstView v, ConstView mask,
                          ConstView out, ConstView lse, const AttentionOptions& options, View dq,
                          View dk, View dv);

}  // namespace tapir::TAPIR_ISA
