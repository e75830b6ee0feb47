// How well a model predicts every token of a text.
#pragma once

#include <functional>

#include "apps/data/evaluation.h"

namespace tapir::app {

struct SlidingOptions {
  int64_t context = 0;  // tokens that the model sees at once
  int64_t stride = 0;   // 1 to context: each token but the first ones sees context - stride others
  int64_t batch = 8;    // windows at once
};

// Called for each predicted token in the order of the text, with its position and -log p in nats.
using TokenLoss = std::function<void(int64_t position, int32_t id, double nats)>;

// Predicts tokens 1, 2, ... from those before them, through a window that slides by `stride`: each
// token is predicted once, in the first window that reaches it. Needs at least 2 tokens.
Evaluation evaluate_sliding(const nn::TransformerLM& model, const TokenSequence& tokens,
                            const Tokenizer& tokenizer, const SlidingOptions& options,
                            const TokenLoss& on_token = nullptr);

}  // namespace tapir::app
