#include "apps/plot/chart.h"

#include <algorithm>
#include <cmath>

namespace tapir::app {
namespace {

void include(Range& range, double value, bool first) {
  range.low = first ? value : std::min(range.low, value);
  range.high = first ? value : std::max(range.high, value);
}

// Values that differ in nothing but rounding: steps between them are too small to count in.
bool is_point(const Range& range) {
  return range.width() <= 1e-9 * std::max(std::abs(range.low), std::abs(range.high));
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, int count) {
  const double raw = (high - low) / std::max(count, 1);
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= raw * 0.999) step = factor * power;
  }
  std::vector<double> ticks;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
}

std::pair<Range, Range> chart_ranges(const Chart& chart) {
  Range x, y;
  bool first = true;
  for (const Series& series : chart.series) {
    for (size_t i = 0; i < series.x.size(); ++i) {
      include(x, series.x[i], first);
      include(y, series.y[i], first);
      first = false;
    }
  }
  if (is_point(x)) x.high = x.low + std::max(1.0, std::abs(x.low) * 0.1);
  if (is_point(y)) y.high = y.low + std::max(1e-3, std::abs(y.low) * 0.1);
  return {x, y};
}

}  // namespace tapir::app
