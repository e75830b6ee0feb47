// Gradient clipping by the global norm. Source: Pascanu, Mikolov and Bengio 2013.
#pragma once

#include <vector>

#include "autograd/state_dict.h"

namespace tapir::optim {

// The L2 norm over all gradients together; parameters without one count as zero. A norm that is
// not finite is an Error naming the first bad parameter.
double grad_norm(const std::vector<NamedTensor>& parameters);

// Scales every gradient in place by max_norm / (norm + 1e-6) if the norm exceeds max_norm, which
// is above 0. Returns the norm before clipping.
double clip_grad_norm(const std::vector<NamedTensor>& parameters, double max_norm);

// The two steps of it for who does not want to wait for a GPU: the square of the norm as an f64
// scalar, on the device of the parameters (of which there must be one), and the scaling, which
// leaves gradients alone where it is not finite.
Tensor squared_grad_norm(const std::vector<NamedTensor>& parameters);
void limit_grad_norm(const std::vector<NamedTensor>& parameters, const Tensor& squared_norm,
                     double max_norm);

}  // namespace tapir::optim
