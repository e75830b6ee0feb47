// How well a model predicts a text.
#pragma once

#include <cmath>
#include <numbers>
#include <optional>
#include <vector>

#include "apps/data/token_sequence.h"
#include "apps/tokenizer/tokenizer.h"
#include "nn/transformer.h"

namespace tapir::app {

// Sums over the predicted tokens, so that parts can be added.
struct Evaluation {
  double nats = 0;     // of cross-entropy
  int64_t tokens = 0;  // predicted
  int64_t bytes = 0;   // of text that they stand for; special tokens stand for none

  double loss() const { return nats / static_cast<double>(tokens); }  // nats per token
  double perplexity() const { return std::exp(loss()); }
  // Comparable between tokenizers, unlike the loss.
  double bits_per_byte() const { return nats / std::numbers::ln2 / static_cast<double>(bytes); }
};

// The number of bytes of text that each token stands for.
std::vector<int64_t> bytes_per_token(const Tokenizer& tokenizer);

// Evaluates a model on the same windows of a text each time.
class Validation {
 public:
  // At most `batches` batches of windows spread evenly over `tokens`, which must outlive this and
  // hold at least context + 1 tokens.
  Validation(const TokenSequence& tokens, const Tokenizer& tokenizer, int64_t batches,
             int64_t batch, int64_t context);

  // Runs no dropout and records nothing. `stop`, if given, is asked before each batch: true ends
  // the evaluation without a result.
  std::optional<Evaluation> run(const nn::TransformerLM& model, bool (*stop)() = nullptr) const;

 private:
  const TokenSequence& tokens_;
  std::vector<int64_t> bytes_per_token_;
  std::vector<int64_t> starts_;
  int64_t batch_, context_;
};

}  // namespace tapir::app
