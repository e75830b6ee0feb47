// Weights in the order that other programs expect.
#pragma once

#include <string_view>

#include "apps/config/run_config.h"
#include "autograd/tensor.h"

namespace tapir::app {

// The parameter `name`, converted to `dtype`. The rows of query and key projections are reordered
// inside each head so that RoPE in `layout` rotates the same elements together as in the model's
// own; the scores stay the same, because queries and keys change alike. Hugging Face has
// half_split, llama.cpp interleaved. A number that `dtype` cannot hold is an Error.
Tensor export_weight(std::string_view name, const Tensor& weight, const ModelConfig& model,
                     RopeLayout layout, DType dtype);

}  // namespace tapir::app
