// Batches of token windows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/data/token_sequence.h"
#include "autograd/tensor.h"

namespace tapir::app {

// The inputs begin at `begin`; `targets` tokens are predicted, from the one behind it on.
struct Window {
  int64_t begin = 0;
  int64_t targets = 0;
};

// A target that does not count.
inline constexpr int32_t kIgnored = -100;

// What the model reads and what it should predict, both i32 [B, T]: the targets are the inputs one
// token later. Behind the end of a window that predicts fewer than T tokens stand zeros and
// kIgnored.
struct Batch {
  Tensor inputs;
  Tensor targets;
  int64_t counted = 0;  // targets that are not ignored
};

Batch make_batch(const TokenSequence& tokens, std::span<const Window> windows, int64_t context,
                 Device device);

// Where up to `count` windows begin that are spread evenly over the tokens, without overlap if
// there is room: the same at each validation, so that losses can be compared.
std::vector<int64_t> even_starts(const TokenSequence& tokens, int64_t count, int64_t context);

}  // namespace tapir::app
