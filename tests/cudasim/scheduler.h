// The part of the scheduler that the fake runtime calls.
#pragma once

#include "cudasim/simulator.h"

namespace cudasim {

// Runs all blocks of a grid; false when a block got stuck, which has been reported.
bool run_grid(const Launch& launch, const std::function<void()>& thread_body);

}  // namespace cudasim
