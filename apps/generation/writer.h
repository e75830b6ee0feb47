// Continues prompts with a model and gives out the text as it comes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/training/checkpoint.h"
#include "nn/sampling.h"

namespace tapir::app {

struct WriterOptions {
  nn::SamplingOptions sampling;
  int64_t tokens = 256;  // at most, for each sample
  int64_t samples = 1;   // made together in one batch
  int64_t seed = 1;      // sample i draws with seed + i
  std::vector<std::string> stops;
  bool parse_special = false;  // a special token that the prompt spells becomes one

  SpecialText special() const { return parse_special ? SpecialText::kParse : SpecialText::kAsText; }
};

// One generated token with what the model thought of it.
struct TokenReport {
  struct Alternative {
    int32_t id = 0;
    double probability = 0;
  };
  int64_t sample = 0;
  int64_t index = 0;  // within the sample
  int32_t id = 0;
  double probability = 0;              // before temperature and filters
  std::vector<Alternative> likeliest;  // in descending order
};

struct WriterStats {
  int64_t prompt_tokens = 0;
  int64_t new_tokens = 0;  // over all samples
  double prompt_seconds = 0;
  double seconds = 0;  // after the first token
};

// What to do with each piece of text, which is valid UTF-8, and with each token.
struct WriterOutput {
  std::function<void(int64_t sample, std::string_view text)> text;
  std::function<void(const TokenReport& report)> token = nullptr;
  // Asked after each token: true ends all samples.
  std::function<bool()> stop = nullptr;
};

// Generates until end-of-text, a stop string or the limit.
WriterStats write_samples(const LoadedModel& model, std::string_view prompt,
                          const WriterOptions& options, const WriterOutput& output);

}  // namespace tapir::app
