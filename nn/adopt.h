// Giving a model the weights of a file without copying them.
#pragma once

#include "nn/module.h"

namespace tapir::nn {

// Makes the tensors of `state` themselves the module's parameters; only one of another dtype or on
// another device is converted. Missing, unexpected and mis-shaped keys are one Error that lists
// them all, before anything is changed. A tied parameter is listed under its first name.
void adopt_state_dict(Module& module, const StateDict& state);

}  // namespace tapir::nn
