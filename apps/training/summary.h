// What a person should know before training starts.
#pragma once

#include <string>

#include "apps/data/dataset.h"
#include "apps/training/memory_forecast.h"

namespace tapir::app {

struct SummaryFacts {
  const RunConfig& config;
  const Dataset& data;
  MemoryForecast memory;
  std::string device;
  std::string precision;
  int64_t first_step = 0;
  double seconds_per_step = 0;  // measured; 0: unknown
};

// Lines of model, data, schedule, memory, device and expected time.
std::string summary(const SummaryFacts& facts);

}  // namespace tapir::app
