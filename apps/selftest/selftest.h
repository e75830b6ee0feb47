// Checks of one device against the CPU, for users to run on their own card.
#pragma once

#include <functional>
#include <string>

#include "backends/device.h"

namespace tapir::app {

// What one check compared, in one dtype: an operation over all its cases, a layer or model over its
// options, or a training run.
struct SelftestResult {
  std::string name;
  double error = 0;      // the largest, relative to the largest element where that exceeds 1
  double tolerance = 0;  // what rounding in another order may cost
  double seconds = 0;    // on the device, with the checks
  bool passed() const { return error <= tolerance; }
};

// Runs every check on `device` and on the CPU and calls `report` with each result.
void run_selftest(Device device, const std::function<void(const SelftestResult&)>& report);

}  // namespace tapir::app
