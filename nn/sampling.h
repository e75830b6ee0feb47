// Choosing the next token from its logits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "autograd/generator.h"
#include "backends/view.h"

namespace tapir::nn {

// Applied in this order: repetition penalty, temperature, top-k, top-p, min-p. Each filter works on
// the renormalised probabilities that the one before it left. Equal probabilities rank by id,
// lowest first. The defaults change nothing.
struct SamplingOptions {
  // Divides the logits; 0 takes the largest logit (ties: the lowest id). At least 0.
  double temperature = 1.0;
  // Keeps the k most likely tokens; 0 keeps all. At least 0.
  int64_t top_k = 0;
  // Keeps the fewest most likely tokens whose probabilities reach p. In (0, 1].
  // Source: Holtzman et al. 2020.
  double top_p = 1.0;
  // Keeps tokens at least this fraction as likely as the most likely one. In [0, 1].
  // Source: Nguyen et al. 2024.
  double min_p = 0.0;
  // Divides positive and multiplies negative logits of tokens that occurred before. Above 0.
  // Source: Keskar et al. 2019.
  double repetition_penalty = 1.0;

  // An Error that names the first field with an impossible value.
  void validate() const;
};

// The distribution that the next token is drawn from, [V]. `previous` are the ids so far. A logit
// that is not finite is an Error naming the id.
std::vector<double> next_token_probabilities(std::span<const double> logits,
                                             std::span<const int32_t> previous,
                                             const SamplingOptions& options);

// Draws one id from it. The logits [V] lie one after the other in the host's memory, f32 or f64.
int32_t sample_token(ConstView logits, std::span<const int32_t> previous,
                     const SamplingOptions& options, Generator& generator);
int32_t sample_token(std::span<const double> logits, std::span<const int32_t> previous,
                     const SamplingOptions& options, Generator& generator);

}  // namespace tapir::nn
