// Decoding: continue prompts token by token.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "nn/sampling.h"
#include "nn/transformer.h"

namespace tapir::nn {

// Called for each new token of a row, end-of-text included; returning false finishes the row.
using TokenCallback = std::function<bool(int64_t row, int32_t id)>;
// The same with the model's logits [V] that the token was drawn from, before any filter.
using LogitsCallback = std::function<void(int64_t row, int32_t id, std::span<const double> logits)>;

struct GenerateOptions {
  int64_t max_new_tokens = 256;
  SamplingOptions sampling;
  uint64_t seed = 0;                 // row i draws from a generator seeded with seed + i
  std::vector<int32_t> end_of_text;  // producing any of these ids finishes a row
  int32_t pad_id = 0;                // what a finished row holds from then on
  bool use_cache = true;             // false recomputes every step; the results agree
  LogitsCallback on_logits;          // just before on_token
  TokenCallback on_token;
};

struct Generation {
  // The new ids of each row. All rows are equally long: a finished one continues with pad_id.
  std::vector<std::vector<int32_t>> ids;
  // How many of them are text: those before end-of-text or padding.
  std::vector<int64_t> lengths;
};

// Continues each prompt (one or more ids; lengths may differ) until every row is finished or
// max_new_tokens are there. A row's result does not depend on the other rows. The model sees the
// last max_seq_len ids of a row: beyond that the window slides, and as every key then depends on a
// token that left the window, the window is computed anew at each step. Nothing is recorded.
Generation generate(const TransformerLM& model, const std::vector<std::vector<int32_t>>& prompts,
                    const GenerateOptions& options);

}  // namespace tapir::nn
