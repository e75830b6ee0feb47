// Where a training run stands.
#pragma once

#include <cstdint>
#include <optional>

#include "autograd/generator.h"

namespace tapir::app {

struct TrainingState {
  int64_t step = 0;  // optimizer steps done; also the position in the data
  Generator dropout;
  double seconds = 0;  // spent training, over all sessions
  std::optional<double> best_loss;
  int64_t best_step = 0;
  int64_t evaluations_since_best = 0;
};

}  // namespace tapir::app
