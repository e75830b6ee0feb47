#include "apps/data/evaluation.h"

#include <algorithm>

#include "apps/data/batches.h"
#include "autograd/ops.h"

namespace tapir::app {

std::vector<int64_t> bytes_per_token(const Tokenizer& tokenizer) {
  std::vector<int64_t> bytes(static_cast<size_t>(tokenizer.vocab_size()));
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    if (tokenizer.is_special(id)) continue;
    bytes[static_cast<size_t>(id)] = static_cast<int64_t>(tokenizer.token_bytes(id).size());
  }
  return bytes;
}

Validation::Validation(const TokenSequence& tokens, const Tokenizer& tokenizer, int64_t batches,
                       int64_t batch, int64_t context)
    : tokens_(tokens),
      bytes_per_token_(bytes_per_token(tokenizer)),
      starts_(even_starts(tokens, batches * batch, context)),
      batch_(batch),
      context_(context) {}

std::optional<Evaluation> Validation::run(const nn::TransformerLM& model, bool (*stop)()) const {
  NoGrad pause;
  const Device device = model.token_embeddings.weight.device();
  Evaluation total;
  for (size_t first = 0; first < starts_.size(); first += static_cast<size_t>(batch_)) {
    if (stop && stop()) return std::nullopt;
    const size_t rows = std::min(static_cast<size_t>(batch_), starts_.size() - first);
    const Batch batch =
        make_batch(tokens_, std::span(starts_).subspan(first, rows), context_, device);
    total.nats += cross_entropy(model(batch.inputs), batch.targets, Reduction::sum).item();
    total.tokens += batch.tokens();
    for (const int32_t id : batch.targets.to_ints()) {
      total.bytes += bytes_per_token_[static_cast<size_t>(id)];
    }
  }
  return total;
}

}  // namespace tapir::app
