#include "apps/data/window_sampler.h"

#include <algorithm>

#include "apps/data/permutation.h"

namespace tapir::app {
namespace {

// Keep what a seed decides apart from its other random numbers.
constexpr uint64_t kPositionStream = 0x77696e646f77;
constexpr uint64_t kLengthStream = 0x6c656e677468;
constexpr uint64_t kOrderStream = uint64_t{0x6f72646572} << 24;  // the epoch is added

// Uniform on [0, bound) up to 2^-64 of bias.
int64_t random_below(uint64_t seed, uint64_t counter, uint64_t stream, int64_t bound) {
  const PhiloxBlock block = philox(seed, counter, stream);
  const uint64_t bits = static_cast<uint64_t>(block.word[1]) << 32 | block.word[0];
  __extension__ using Wide = unsigned __int128;
  return static_cast<int64_t>(static_cast<Wide>(bits) * static_cast<uint64_t>(bound) >> 64);
}

// One more than whole windows, if the first and the last can share their tokens in several ways.
int64_t count_windows(int64_t targets, int64_t context) {
  const int64_t whole = targets / context;
  const bool shared = targets % context > 0 || (whole > 1 && context > 1);
  return whole + (shared ? 1 : 0);
}

}  // namespace

WindowSampler::WindowSampler(const TokenSequence& tokens, std::string_view name, int64_t context,
                             Sampling sampling, uint64_t seed)
    : tokens_(tokens),
      context_(context),
      sampling_(sampling),
      seed_(seed),
      windows_per_epoch_(count_windows(std::max<int64_t>(1, tokens.size() - 1), context)) {
  require(tokens.size() >= 2, "data", "the {} text has {} tokens; at least 2 are needed", name,
          tokens.size());
  require(tokens.size() > context, "data",
          "the {} text has {} tokens, but a window takes --context + 1 = {}; the longest legal "
          "context is {}",
          name, tokens.size(), context + 1, tokens.size() - 1);
}

Window WindowSampler::at(int64_t index) const {
  if (sampling_ == Sampling::random) {
    const auto counter = static_cast<uint64_t>(index);
    return {random_below(seed_, counter, kPositionStream, tokens_.size() - context_), context_};
  }
  const int64_t epoch = epoch_of(index);
  auto place = static_cast<uint64_t>(index % windows_per_epoch_);
  if (sampling_ == Sampling::shuffled) {
    const uint64_t stream = kOrderStream + static_cast<uint64_t>(epoch);
    place = Permutation(static_cast<uint64_t>(windows_per_epoch_), seed_, stream)(place);
  }
  return side_by_side(epoch, static_cast<int64_t>(place));
}

Window WindowSampler::side_by_side(int64_t epoch, int64_t place) const {
  const int64_t first = first_length(epoch);
  if (place == 0) return {0, first};
  const int64_t begin = first + (place - 1) * context_;
  return {begin, std::min(context_, tokens_.size() - 1 - begin)};
}

// Targets of an epoch's first window. The last one has the others of the two, and at least one.
int64_t WindowSampler::first_length(int64_t epoch) const {
  const int64_t targets = tokens_.size() - 1, rest = targets % context_;
  if (windows_per_epoch_ == targets / context_) return context_;
  const int64_t least = std::max<int64_t>(1, rest), most = rest > 0 ? context_ : context_ - 1;
  return least + random_below(seed_, static_cast<uint64_t>(epoch), kLengthStream, most - least + 1);
}

Batch WindowSampler::batch(int64_t first, int64_t count, Device device) const {
  std::vector<Window> windows;
  for (int64_t i = 0; i < count; ++i) windows.push_back(at(first + i));
  return make_batch(tokens_, windows, context_, device);
}

}  // namespace tapir::app
