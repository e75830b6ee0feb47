// Where a training run stands.
#pragma once

#include <cstdint>
#include <optional>

#include "autograd/generator.h"

namespace tapir::app {

// Where a run stands in its data: the seed of the sampler, and the windows drawn so far. Together
// they are the epoch, its permutation and the place in it (window_sampler.h).
struct DataPosition {
  uint64_t seed = 0;
  int64_t windows = 0;
};

struct TrainingState {
  int64_t step = 0;  // optimizer steps done
  DataPosition data;
  Generator dropout;
  double seconds = 0;  // spent training, over all sessions
  std::optional<double> best_loss;
  int64_t best_step = 0;
  int64_t evaluations_since_best = 0;
};

// Whether something that happens every `interval` steps (0: never) happens after this one.
inline bool due(int64_t step, int64_t interval) {
  return interval > 0 && step % interval == 0;
}

}  // namespace tapir::app
