#include "apps/data/sliding_evaluation.h"

#include <algorithm>

#include "autograd/ops.h"

namespace tapir::app {
namespace {

struct ScoredWindow {
  int64_t begin = 0;  // of the inputs
  int64_t first = 0;  // target position that is new in this window
  int64_t end = 0;    // behind its last target
};

std::vector<ScoredWindow> make_windows(int64_t tokens, const SlidingOptions& options) {
  std::vector<ScoredWindow> windows;
  for (int64_t next = 1; next < tokens;) {
    const int64_t end = std::min(tokens, next == 1 ? options.context + 1 : next + options.stride);
    windows.push_back({std::max<int64_t>(0, end - 1 - options.context), next, end});
    next = end;
  }
  return windows;
}

// Losses of one window after the other, [rows][context].
std::vector<double> window_losses(const nn::TransformerLM& model, const TokenSequence& tokens,
                                  std::span<const ScoredWindow> windows, int64_t context) {
  const auto length = static_cast<size_t>(context);
  std::vector<int32_t> inputs(windows.size() * length), targets(inputs.size());
  for (size_t row = 0; row < windows.size(); ++row) {
    const ScoredWindow& window = windows[row];
    const auto count = static_cast<size_t>(window.end - 1 - window.begin);
    tokens.copy(window.begin, std::span(inputs).subspan(row * length, count));
    tokens.copy(window.begin + 1, std::span(targets).subspan(row * length, count));
  }
  const Device device = model.token_embeddings.weight.device();
  const Shape shape{static_cast<int64_t>(windows.size()), context};
  const Tensor logits = model(Tensor::from(inputs, shape, device));
  return cross_entropy(logits, Tensor::from(targets, shape, device), Reduction::none).to_vector();
}

}  // namespace

Evaluation evaluate_sliding(const nn::TransformerLM& model, const TokenSequence& tokens,
                            const Tokenizer& tokenizer, const SlidingOptions& options,
                            const TokenLoss& on_token) {
  require(tokens.size() >= 2, "eval", "the text has {} tokens; at least 2 are needed",
          tokens.size());
  require(options.stride >= 1 && options.stride <= options.context, "eval",
          "--stride {} must be from 1 to the context of {} tokens", options.stride,
          options.context);
  NoGrad pause;
  const std::vector<int64_t> bytes = bytes_per_token(tokenizer);
  const std::vector<ScoredWindow> windows = make_windows(tokens.size(), options);
  const auto batch = static_cast<size_t>(options.batch);
  Evaluation total;
  for (size_t start = 0; start < windows.size(); start += batch) {
    const std::span<const ScoredWindow> rows =
        std::span(windows).subspan(start, std::min(batch, windows.size() - start));
    const std::vector<double> losses = window_losses(model, tokens, rows, options.context);
    for (size_t row = 0; row < rows.size(); ++row) {
      for (int64_t position = rows[row].first; position < rows[row].end; ++position) {
        const auto column = static_cast<size_t>(position - 1 - rows[row].begin);
        const double nats = losses[row * static_cast<size_t>(options.context) + column];
        int32_t id = 0;
        tokens.copy(position, {&id, 1});
        total.nats += nats;
        total.tokens += 1;
        total.bytes += bytes[static_cast<size_t>(id)];
        if (on_token) on_token(position, id, nats);
      }
    }
  }
  return total;
}

}  // namespace tapir::app
