// What attention looked at.
#pragma once

#include <string>

#include "apps/inspect/inspection.h"
#include "autograd/tensor.h"

namespace tapir::app {

// The causal attention probabilities of the first sequence: q [B, H, T, D], k [B, Hkv, T, D].
// At most the first `most` tokens, which causality makes exact. The fused operation never holds
// these, so they are computed here, by the definition.
AttentionMap attention_map(const std::string& layer, const Tensor& q, const Tensor& k,
                           int64_t most = 128);

}  // namespace tapir::app
