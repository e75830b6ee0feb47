// Gradient clipping by the global norm. Source: Pascanu, Mikolov and Bengio 2013.
#pragma once

#include <vector>

#include "autograd/state_dict.h"

namespace tapir::optim {

// The L2 norm over all gradients together; parameters without one count as zero. A norm that is
// not finite is an Error naming the first bad parameter.
double grad_norm(const std::vector<NamedTensor>& parameters);

// Scales every gradient by max_norm / (norm + 1e-6) if the norm exceeds max_norm, which is
// above 0. Returns the norm before clipping.
double clip_grad_norm(const std::vector<NamedTensor>& parameters, double max_norm);

}  // namespace tapir::optim
