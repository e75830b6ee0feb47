// The results of warp operations.
#pragma once

#include "cudasim/simulator.h"

namespace cudasim {

// Computes the results of all lanes in `mask`, each of which has called; the others are null.
void combine(WarpCall* const (&calls)[32], unsigned mask);

}  // namespace cudasim
