#include "apps/generation/writer.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include "apps/generation/prompt.h"
#include "apps/generation/stop_matcher.h"
#include "apps/tokenizer/utf8_stream.h"
#include "nn/generate.h"

namespace tapir::app {
namespace {

constexpr size_t kAlternatives = 5;

// From the tokens of one sample to its text.
class SampleText {
 public:
  explicit SampleText(const std::vector<std::string>& stops) : stops_(stops) {}

  std::string push(std::string_view bytes) { return utf8_.push(stops_.push(bytes)); }
  std::string finish() {
    std::string text = utf8_.push(stops_.finish());
    return text + utf8_.finish();
  }
  bool stopped() const { return stops_.stopped(); }

 private:
  StopMatcher stops_;
  Utf8Stream utf8_;
};

TokenReport report_token(int64_t sample, int64_t index, int32_t id,
                         std::span<const double> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - largest);
  const auto probability = [&](int32_t token) {
    return std::exp(logits[static_cast<size_t>(token)] - largest) / sum;
  };
  std::vector<int32_t> order(logits.size());
  std::iota(order.begin(), order.end(), 0);
  const auto count = static_cast<std::ptrdiff_t>(std::min(kAlternatives, order.size()));
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](int32_t a, int32_t b) {
    const double x = logits[static_cast<size_t>(a)];
    const double y = logits[static_cast<size_t>(b)];
    return x > y || (x == y && a < b);
  });
  TokenReport report{sample, index, id, probability(id), {}};
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    report.likeliest.push_back(
        {order[static_cast<size_t>(i)], probability(order[static_cast<size_t>(i)])});
  }
  return report;
}

}  // namespace

WriterStats write_samples(const LoadedModel& model, std::string_view prompt,
                          const WriterOptions& options, const WriterOutput& output) {
  using Clock = std::chrono::steady_clock;
  const Tokenizer& tokenizer = *model.tokenizer;
  const auto samples = static_cast<size_t>(options.samples);
  const std::vector<int32_t> ids =
      encode_prompt(tokenizer, model.info.documents, prompt, options.special());
  std::vector<SampleText> texts(samples, SampleText(options.stops));
  std::vector<int64_t> counts(samples);
  WriterStats stats{.prompt_tokens = static_cast<int64_t>(ids.size())};
  const Clock::time_point start = Clock::now();
  Clock::time_point first_token = start;

  nn::GenerateOptions generate;
  generate.max_new_tokens = options.tokens;
  generate.sampling = options.sampling;
  generate.seed = static_cast<uint64_t>(options.seed);
  generate.end_of_text = end_ids(tokenizer, model.info.end_tokens);
  if (output.token) {
    generate.on_logits = [&](int64_t row, int32_t id, std::span<const double> logits) {
      output.token(report_token(row, counts[static_cast<size_t>(row)], id, logits));
    };
  }
  generate.on_token = [&](int64_t row, int32_t id) {
    if (stats.new_tokens++ == 0) first_token = Clock::now();
    ++counts[static_cast<size_t>(row)];
    SampleText& text = texts[static_cast<size_t>(row)];
    if (!tokenizer.is_special(id)) output.text(row, text.push(tokenizer.token_bytes(id)));
    return !text.stopped() && !(output.stop && output.stop());
  };
  nn::generate(*model.model, std::vector(samples, ids), generate);
  for (size_t i = 0; i < samples; ++i) output.text(static_cast<int64_t>(i), texts[i].finish());

  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  stats.prompt_seconds = seconds(first_token - start);
  stats.seconds = seconds(Clock::now() - first_token);
  return stats;
}

}  // namespace tapir::app
