// How well a model predicts a text.
#pragma once

#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "apps/data/dataset.h"
#include "nn/transformer.h"

namespace tapir::app {

// Sums over the predicted tokens, so that parts can be added.
struct Evaluation {
  double nats = 0;        // of cross-entropy
  int64_t tokens = 0;     // predicted
  int64_t bytes = 0;      // of text that they stand for; special tokens stand for none
  double floor_bits = 0;  // what the best possible model needs on average; 0: unknown

  double loss() const { return nats / static_cast<double>(tokens); }  // nats per token
  double perplexity() const { return std::exp(loss()); }
  // Comparable between tokenizers, unlike the loss.
  double bits_per_byte() const { return nats / std::numbers::ln2 / static_cast<double>(bytes); }
  std::optional<double> floor_bits_per_byte() const {
    if (floor_bits <= 0) return std::nullopt;
    return floor_bits / static_cast<double>(bytes);
  }
};

// The number of bytes of text that each token stands for.
std::vector<int64_t> bytes_per_token(const Tokenizer& tokenizer);

// Evaluates a model on the same windows of a text each time.
class Validation {
 public:
  // At most `batches` batches of windows: those that have a floor, or else windows spread evenly
  // over the validation text, which must then hold at least context + 1 tokens. `data` must outlive
  // this.
  Validation(const Dataset& data, int64_t batches, int64_t batch, int64_t context);

  // Runs no dropout and records nothing. `stop`, if given, is asked before each batch: true ends
  // the evaluation without a result.
  std::optional<Evaluation> run(const nn::TransformerLM& model, bool (*stop)() = nullptr) const;

 private:
  Evaluation run_batch(const nn::TransformerLM& model, std::span<const FloorWindow> windows) const;

  const TokenSequence& tokens_;
  std::vector<int64_t> bytes_per_token_;
  std::vector<FloorWindow> windows_;
  int64_t batch_, context_;
};

}  // namespace tapir::app
