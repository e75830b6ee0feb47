// The loss curves of runs.
#pragma once

#include <filesystem>
#include <vector>

#include "apps/plot/chart.h"
#include "apps/training/metrics.h"

namespace tapir::app {

// Training loss (means over short stretches, because single batches are noisy) and validation loss
// against the step. Runs without a measurement are an Error.
Chart loss_chart(const std::vector<std::filesystem::path>& runs);

}  // namespace tapir::app
