// Statistics of a tensor's values.
#pragma once

#include "apps/inspect/inspection.h"
#include "autograd/tensor.h"

namespace tapir::app {

// With `bins` equal bins from the smallest to the largest finite value.
ValueStats value_stats(const Tensor& x, int bins = 40);

// The square root of the sum of squares.
double l2_norm(const Tensor& x);

}  // namespace tapir::app
