// What a forward pass may bring along besides its input.
#pragma once

#include "autograd/generator.h"
#include "autograd/tensor.h"

namespace tapir::nn {

class KvCache;

struct ForwardContext {
  // i32 [T] or [B, T]; by default the T positions that follow those in the cache.
  Tensor positions;
  // bool, true = keep, broadcastable to [B, H, T, S]; applied on top of causality.
  Tensor mask;
  // Keys and values of earlier positions; this pass adds its own.
  KvCache* cache = nullptr;
  // Which layer of the cache an attention layer uses; the model sets it.
  int64_t layer = 0;
  // Draws dropout masks. Null means evaluation: dropout does nothing.
  Generator* dropout = nullptr;
  // Keep only each block's input and compute its inside again in the backward pass.
  bool checkpoint = false;
};

// The `count` positions that follow those in the context's cache: i32 [count].
Tensor default_positions(const ForwardContext& context, int64_t count, Device device);

}  // namespace tapir::nn
