// Which windows of the text a run trains on, in which order.
#pragma once

#include <string_view>

#include "apps/config/sampling.h"
#include "apps/data/batches.h"

namespace tapir::app {

// Window `index` is a pure function of the tokens, the seed and the index, so that a resumed run
// continues with exactly the data that the interrupted one would have seen.
//
// Shuffled and sequential windows stand side by side: an epoch predicts every token but the very
// first exactly once. The text rarely is a whole number of windows, so one at its beginning and one
// at its end are shorter; how long they are differs from epoch to epoch, so that the windows are
// not cut at the same places each time.
class WindowSampler {
 public:
  // `tokens` must outlive this. Fewer than context + 1 of them are an Error that says the longest
  // legal context; `name` says which part of the data it is about.
  WindowSampler(const TokenSequence& tokens, std::string_view name, int64_t context,
                Sampling sampling, uint64_t seed);

  uint64_t seed() const { return seed_; }
  void set_seed(uint64_t seed) { seed_ = seed; }

  Window at(int64_t index) const;
  // Windows [first, first + count).
  Batch batch(int64_t first, int64_t count, Device device) const;

  // Of random windows, which do not care, as many as shuffled ones have.
  int64_t windows_per_epoch() const { return windows_per_epoch_; }
  int64_t epoch_of(int64_t index) const { return index / windows_per_epoch_; }

 private:
  Window side_by_side(int64_t epoch, int64_t place) const;
  int64_t first_length(int64_t epoch) const;

  const TokenSequence& tokens_;
  int64_t context_;
  Sampling sampling_;
  uint64_t seed_;
  int64_t windows_per_epoch_;
};

}  // namespace tapir::app
