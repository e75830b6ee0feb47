// How much memory a training run will take.
#pragma once

#include <cstdint>
#include <string>

#include "apps/config/run_config.h"

namespace tapir::app {

// In bytes.
struct MemoryForecast {
  double weights = 0;
  double gradients = 0;
  double optimizer = 0;
  double activations = 0;  // the most that is kept for one backward pass, and its temporaries
  double batches = 0;      // the tokens of a step
  double data = 0;

  double total() const { return weights + gradients + optimizer + activations + batches + data; }
};

// Of the device's own memory, where it has such: the text of `data_bytes` is in the machine's.
MemoryForecast forecast_memory(const RunConfig& config, int64_t vocab_size, int64_t data_bytes,
                               Device device);

// Throws an Error if the forecast exceeds what the device or the machine has left, with the flags
// that would help most.
void require_memory(const RunConfig& config, int64_t vocab_size, int64_t data_bytes, Device device);

}  // namespace tapir::app
