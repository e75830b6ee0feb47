#include "apps/data/evaluation.h"

#include <algorithm>

#include "apps/data/batches.h"
#include "autograd/ops.h"

namespace tapir::app {
namespace {

std::vector<FloorWindow> choose_windows(const Dataset& data, int64_t count, int64_t context) {
  if (!data.floor_windows.empty()) {
    const auto most = std::min(static_cast<size_t>(count), data.floor_windows.size());
    return {data.floor_windows.begin(),
            data.floor_windows.begin() + static_cast<std::ptrdiff_t>(most)};
  }
  const int64_t size = data.validation.size();
  require(
      size > context, "data",
      "the validation text has {} tokens, but a window takes --context + 1 = {}; use {}a larger "
      "--val-fraction or more --val-data, or --eval-every 0",
      size, context + 1, size > 1 ? fmt::format("a context of at most {}, ", size - 1) : "");
  std::vector<FloorWindow> windows;
  for (const int64_t begin : even_starts(data.validation, count, context)) {
    windows.push_back({.begin = begin, .tokens = context});
  }
  return windows;
}

}  // namespace

std::vector<int64_t> bytes_per_token(const Tokenizer& tokenizer) {
  std::vector<int64_t> bytes(static_cast<size_t>(tokenizer.vocab_size()));
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.is_special(id)) continue;
    bytes[static_cast<size_t>(id)] = static_cast<int64_t>(tokenizer.token_bytes(id).size());
  }
  return bytes;
}

Validation::Validation(const Dataset& data, int64_t batches, int64_t batch, int64_t context)
    : tokens_(data.validation),
      bytes_per_token_(bytes_per_token(*data.tokenizer)),
      windows_(choose_windows(data, batches * batch, context)),
      batch_(batch),
      context_(context) {}

std::optional<Evaluation> Validation::run(const nn::TransformerLM& model, bool (*stop)()) const {
  NoGrad pause;
  Evaluation total;
  for (size_t first = 0; first < windows_.size(); first += static_cast<size_t>(batch_)) {
    if (stop && stop()) return std::nullopt;
    const size_t rows = std::min(static_cast<size_t>(batch_), windows_.size() - first);
    const Evaluation part = run_batch(model, std::span(windows_).subspan(first, rows));
    total.nats += part.nats;
    total.tokens += part.tokens;
    total.bytes += part.bytes;
    total.floor_bits += part.floor_bits;
  }
  return total;
}

Evaluation Validation::run_batch(const nn::TransformerLM& model,
                                 std::span<const FloorWindow> windows) const {
  const Device device = model.token_embeddings.weight.device();
  Evaluation result;
  std::vector<Window> rows;
  for (const FloorWindow& window : windows) {
    rows.push_back({window.begin, window.tokens});
    result.floor_bits += window.bits;
  }
  const Batch batch = make_batch(tokens_, rows, context_, device);
  for (const int32_t target : batch.targets.to_ints()) {
    if (target != kIgnored) result.bytes += bytes_per_token_[static_cast<size_t>(target)];
  }
  result.tokens = batch.counted;
  result.nats = cross_entropy(model(batch.inputs), batch.targets, Reduction::sum, kIgnored).item();
  return result;
}

}  // namespace tapir::app
