// Batches of token windows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "apps/data/token_sequence.h"
#include "autograd/tensor.h"

namespace tapir::app {

// What the model reads and what it should predict, both i32 [B, T]: the targets are the inputs one
// token later.
struct Batch {
  Tensor inputs;
  Tensor targets;

  int64_t tokens() const { return targets.numel(); }
};

// Windows of `context` + 1 tokens that begin at the given positions.
Batch make_batch(const TokenSequence& tokens, std::span<const int64_t> starts, int64_t context,
                 Device device);

// Windows at random positions. Batch `index` is a pure function of seed and index, so a resumed
// run continues with exactly the data that the interrupted one would have seen.
class RandomWindows {
 public:
  // `tokens` must outlive this. Fewer than context + 1 of them are an Error that says the longest
  // legal context; `name` says which part of the data it is about.
  RandomWindows(const TokenSequence& tokens, std::string_view name, int64_t batch, int64_t context,
                uint64_t seed);

  Batch at(int64_t index, Device device) const;

 private:
  const TokenSequence& tokens_;
  int64_t batch_, context_;
  uint64_t seed_;
};

// Where up to `count` windows begin that are spread evenly over the tokens, without overlap if
// there is room: the same at each validation, so that losses can be compared.
std::vector<int64_t> even_starts(const TokenSequence& tokens, int64_t count, int64_t context);

}  // namespace tapir::app
