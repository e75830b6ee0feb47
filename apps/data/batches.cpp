#include "apps/data/batches.h"

#include <algorithm>

namespace tapir::app {

Batch make_batch(const TokenSequence& tokens, std::span<const Window> windows, int64_t context,
                 Device device) {
  const auto length = static_cast<size_t>(context);
  std::vector<int32_t> inputs(windows.size() * length), targets(inputs.size(), kIgnored);
  int64_t counted = 0;
  for (size_t row = 0; row < windows.size(); ++row) {
    const auto count = static_cast<size_t>(windows[row].targets);
    tokens.copy(windows[row].begin, std::span(inputs).subspan(row * length, count));
    tokens.copy(windows[row].begin + 1, std::span(targets).subspan(row * length, count));
    counted += windows[row].targets;
  }
  const Shape shape{static_cast<int64_t>(windows.size()), context};
  return {Tensor::from(inputs, shape, device), Tensor::from(targets, shape, device), counted};
}

std::vector<int64_t> even_starts(const TokenSequence& tokens, int64_t count, int64_t context) {
  const int64_t last = tokens.size() - context - 1;  // where the last window may begin
  count = std::min(count, std::max<int64_t>(1, (tokens.size() - 1) / context));
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < count; ++i) starts.push_back(count == 1 ? 0 : last * i / (count - 1));
  return starts;
}

}  // namespace tapir::app
