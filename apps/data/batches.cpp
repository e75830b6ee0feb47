#include "apps/data/batches.h"

#include <algorithm>

#include "backends/philox.h"

namespace tapir::app {
namespace {

// Keeps the positions apart from the other random numbers of a seed.
constexpr uint64_t kWindowStream = 0x77696e646f77;

// Uniform on [0, bound) up to 2^-64 of bias.
int64_t random_below(uint64_t seed, uint64_t counter, int64_t bound) {
  const PhiloxBlock block = philox(seed, counter, kWindowStream);
  const uint64_t bits = static_cast<uint64_t>(block.word[1]) << 32 | block.word[0];
  __extension__ using Wide = unsigned __int128;
  return static_cast<int64_t>(static_cast<Wide>(bits) * static_cast<uint64_t>(bound) >> 64);
}

}  // namespace

Batch make_batch(const TokenSequence& tokens, std::span<const int64_t> starts, int64_t context,
                 Device device) {
  const size_t length = static_cast<size_t>(context);
  std::vector<int32_t> inputs(starts.size() * length), targets(inputs.size());
  for (size_t row = 0; row < starts.size(); ++row) {
    tokens.copy(starts[row], std::span(inputs).subspan(row * length, length));
    tokens.copy(starts[row] + 1, std::span(targets).subspan(row * length, length));
  }
  const Shape shape{static_cast<int64_t>(starts.size()), context};
  return {Tensor::from(inputs, shape, device), Tensor::from(targets, shape, device)};
}

RandomWindows::RandomWindows(const TokenSequence& tokens, std::string_view name, int64_t batch,
                             int64_t context, uint64_t seed)
    : tokens_(tokens), batch_(batch), context_(context), seed_(seed) {
  require(tokens.size() >= 2, "data", "the {} text has {} tokens; at least 2 are needed", name,
          tokens.size());
  require(tokens.size() > context, "data",
          "the {} text has {} tokens, but a window takes --context + 1 = {}; the longest legal "
          "context is {}",
          name, tokens.size(), context + 1, tokens.size() - 1);
}

Batch RandomWindows::at(int64_t index, Device device) const {
  std::vector<int64_t> starts(static_cast<size_t>(batch_));
  for (int64_t row = 0; row < batch_; ++row) {
    const auto counter = static_cast<uint64_t>(index * batch_ + row);
    starts[static_cast<size_t>(row)] = random_below(seed_, counter, tokens_.size() - context_);
  }
  return make_batch(tokens_, starts, context_, device);
}

std::vector<int64_t> even_starts(const TokenSequence& tokens, int64_t count, int64_t context) {
  const int64_t last = tokens.size() - context - 1;  // where the last window may begin
  count = std::min(count, std::max<int64_t>(1, (tokens.size() - 1) / context));
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < count; ++i) starts.push_back(count == 1 ? 0 : last * i / (count - 1));
  return starts;
}

}  // namespace tapir::app
