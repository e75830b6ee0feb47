#include "apps/inspect/value_stats.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/ops.h"

namespace tapir::app {

ValueStats value_stats(const Tensor& x, int bins) {
  const std::vector<double> values = x.to_vector();
  ValueStats stats;
  stats.count = static_cast<int64_t>(values.size());
  stats.low = std::numeric_limits<double>::infinity();
  stats.high = -stats.low;
  double sum = 0, squares = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      ++stats.nonfinite;
      continue;
    }
    stats.low = std::min(stats.low, value);
    stats.high = std::max(stats.high, value);
    sum += value;
    squares += value * value;
  }
  const auto finite = static_cast<double>(stats.count - stats.nonfinite);
  if (finite == 0) {
    stats.low = stats.high = 0;
    return stats;
  }
  stats.mean = sum / finite;
  stats.deviation = std::sqrt(std::max(0.0, squares / finite - stats.mean * stats.mean));
  stats.histogram.resize(static_cast<size_t>(bins));
  const double width = stats.high - stats.low;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    const double place = width > 0 ? (value - stats.low) / width * bins : 0;
    ++stats.histogram[static_cast<size_t>(std::clamp(static_cast<int>(place), 0, bins - 1))];
  }
  return stats;
}

double l2_norm(const Tensor& x) {
  const NoGrad pause;
  const Tensor dense = contiguous(detach(x));
  const ConstView view = dense.view();
  Tensor squares = Tensor::empty({}, DType::f64, x.device());
  dense.backend().sum_of_squares({&view, 1}, squares.view());
  return std::sqrt(squares.item());
}

}  // namespace tapir::app
