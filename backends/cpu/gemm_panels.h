// Products of matrices, or of batches of them, whose results are cut into panels for the threads.
#pragma once

#include "backends/view.h"

namespace tapir::TAPIR_ISA {

// out = a b; views as Backend::matmul takes them, none of them empty.
void multiply_f32(ConstView a, ConstView b, View out);
void multiply_f64(ConstView a, ConstView b, View out);

}  // namespace tapir::TAPIR_ISA
