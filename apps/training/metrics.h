// The measurements of a run, a JSON object in each line of metrics.jsonl. A line holds what was
// measured at its step.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "apps/training/trainer.h"

namespace tapir::app {

struct Metrics {
  int64_t step = 0;
  std::optional<double> loss;      // nats per token
  std::optional<double> val_loss;  // nats per token
  std::optional<double> bits_per_byte;
  std::optional<double> seconds;
  std::string text;  // the line
};

std::string metrics_line(const StepReport& report);

enum class DamagedLines { refuse, skip };

// Reads a whole file. A last line that was cut off is left out; any other bad line is an Error
// naming file and line, unless it is to be skipped. A missing file is an Error.
std::vector<Metrics> read_metrics(const std::filesystem::path& path,
                                  DamagedLines damaged = DamagedLines::refuse);

}  // namespace tapir::app
