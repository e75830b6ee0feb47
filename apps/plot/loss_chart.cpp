#include "apps/plot/loss_chart.h"

#include <cmath>

#include "apps/training/run_names.h"

namespace tapir::app {
namespace {

// Infinity, and what a chart would run over with.
bool is_off_the_chart(std::optional<double> loss) {
  return !loss || !(std::abs(*loss) < 1e300);
}

constexpr size_t kCurvePoints = 250;  // of a curve: more would only show noise

Series training_series(const std::vector<Metrics>& lines, const std::string& prefix) {
  Series series{prefix + "training", {}, {}, false};
  const size_t stretch = lines.size() / kCurvePoints + 1;
  for (size_t first = 0; first < lines.size(); first += stretch) {
    double x = 0, y = 0, count = 0;
    for (size_t i = first; i < std::min(first + stretch, lines.size()); ++i) {
      if (is_off_the_chart(lines[i].loss)) continue;
      x += static_cast<double>(lines[i].step);
      y += *lines[i].loss;
      ++count;
    }
    if (count == 0) continue;
    series.x.push_back(x / count);
    series.y.push_back(y / count);
  }
  return series;
}

Series validation_series(const std::vector<Metrics>& lines, const std::string& prefix) {
  Series series{prefix + "validation", {}, {}, true};
  for (const Metrics& line : lines) {
    if (is_off_the_chart(line.val_loss)) continue;
    series.x.push_back(static_cast<double>(line.step));
    series.y.push_back(*line.val_loss);
  }
  return series;
}

}  // namespace

Chart loss_chart(const std::vector<std::filesystem::path>& runs) {
  Chart chart{"Loss", "step", "nats per token", {}};
  const std::vector<std::string> names = run_names(runs);
  for (size_t i = 0; i < runs.size(); ++i) {
    const std::vector<Metrics> lines = read_metrics(runs[i] / "metrics.jsonl");
    const std::string prefix = runs.size() == 1 ? "" : names[i] + " ";
    for (Series series : {training_series(lines, prefix), validation_series(lines, prefix)}) {
      if (!series.x.empty()) chart.series.push_back(std::move(series));
    }
  }
  require(!chart.series.empty(), "plot", "there are no measurements in {} yet",
          runs.at(0).string());
  return chart;
}

}  // namespace tapir::app
