#include "apps/generation/writer_settings.h"

namespace tapir::app {

std::vector<Setting> writer_settings(WriterOptions& o) {
  const std::string group = "generation";
  nn::SamplingOptions& s = o.sampling;
  return {
      {"prompt", "parse-special", &o.parse_special,
       "What spells a special token in the prompt becomes that token, as in the training text"},
      {group, "tokens", &o.tokens, "Most tokens to generate", 0, 1e9},
      {group, "temperature", &s.temperature,
       "Divides the logits: below 1 is safer, above 1 wilder, 0 always takes the likeliest token",
       0, 1e6},
      {group, "top-k", &s.top_k, "Choose among the k likeliest tokens; 0: among all", 0, 1e9},
      {group, "top-p", &s.top_p,
       "Choose among the fewest likeliest tokens that together reach this probability, above 0",
       1e-12, 1},
      {group, "min-p", &s.min_p,
       "Leave out tokens below this fraction of the likeliest one's probability", 0, 1},
      {group, "repetition-penalty", &s.repetition_penalty,
       "Above 1 makes tokens that occurred before less likely", 1e-6, 1e6},
      {group, "seed", &o.seed, "The same seed gives the same text", 0, 9e15},
      {group, "stop", &o.stops, "End the text before any of these strings"},
  };
}

}  // namespace tapir::app
