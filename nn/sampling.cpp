#include "nn/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "backends/error.h"

namespace tapir::nn {
namespace {

constexpr std::string_view kOp = "sampling";

// A token that may still be drawn, with its probability up to a common factor.
struct Candidate {
  int32_t id;
  double weight;
};

void require_finite(std::span<const double> logits) {
  require(!logits.empty(), kOp, "there are no logits to choose from");
  const auto bad = std::find_if(logits.begin(), logits.end(),
                                [](double value) { return !std::isfinite(value); });
  require(bad == logits.end(), kOp,
          "the logit of id {} is {}; the model's weights or activations are not finite",
          bad - logits.begin(), bad == logits.end() ? 0.0 : *bad);
}

void penalize_repetition(std::vector<double>& logits, std::span<const int32_t> previous,
                         double penalty) {
  if (penalty == 1.0) return;
  std::vector<bool> done(logits.size(), false);
  for (const int32_t id : previous) {
    require(id >= 0 && static_cast<size_t>(id) < logits.size(), kOp,
            "previous id {} is outside of the vocabulary of {}", id, logits.size());
    const auto i = static_cast<size_t>(id);
    if (done[i]) continue;
    done[i] = true;
    logits[i] = logits[i] > 0 ? logits[i] / penalty : logits[i] * penalty;
    require(std::isfinite(logits[i]), kOp,
            "repetition_penalty {} makes the logit of id {} infinite; bring it nearer to 1",
            penalty, id);
  }
}

// All tokens with exp((logit - largest) / temperature) as weight: the largest weight is 1, so
// nothing overflows.
std::vector<Candidate> weigh(std::span<const double> logits, double temperature) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  std::vector<Candidate> candidates(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    candidates[i] = {static_cast<int32_t>(i), std::exp((logits[i] - largest) / temperature)};
  }
  return candidates;
}

bool ranks_before(const Candidate& a, const Candidate& b) {
  return a.weight != b.weight ? a.weight > b.weight : a.id < b.id;
}

void keep_top_k(std::vector<Candidate>& candidates, int64_t k) {
  if (k == 0 || k >= static_cast<int64_t>(candidates.size())) return;
  const auto end = candidates.begin() + k;
  std::nth_element(candidates.begin(), end, candidates.end(), ranks_before);
  candidates.erase(end, candidates.end());
}

void keep_top_p(std::vector<Candidate>& candidates, double p) {
  if (p == 1.0) return;
  std::sort(candidates.begin(), candidates.end(), ranks_before);
  double total = 0.0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  double reached = 0.0;
  size_t kept = 0;
  while (kept < candidates.size() && (kept == 0 || reached < p * total)) {
    reached += candidates[kept++].weight;
  }
  candidates.resize(kept);
}

// Every filter keeps the most likely token, whose weight is 1.
void keep_min_p(std::vector<Candidate>& candidates, double min_p) {
  std::erase_if(candidates, [min_p](const Candidate& c) { return c.weight < min_p; });
}

}  // namespace

void SamplingOptions::validate() const {
  require(std::isfinite(temperature) && temperature >= 0, kOp,
          "temperature is {}, must be at least 0 (0 takes the most likely token)", temperature);
  require(top_k >= 0, kOp, "top_k is {}, must be at least 0 (0 keeps all tokens)", top_k);
  require(top_p > 0 && top_p <= 1, kOp, "top_p is {}, must be in (0, 1] (1 keeps all tokens)",
          top_p);
  require(min_p >= 0 && min_p <= 1, kOp, "min_p is {}, must be in [0, 1] (0 keeps all tokens)",
          min_p);
  require(std::isfinite(repetition_penalty) && repetition_penalty > 0, kOp,
          "repetition_penalty is {}, must be above 0 (1 changes nothing)", repetition_penalty);
}

std::vector<double> next_token_probabilities(std::span<const double> logits,
                                             std::span<const int32_t> previous,
                                             const SamplingOptions& options) {
  options.validate();
  require_finite(logits);
  std::vector<double> scores(logits.begin(), logits.end());
  penalize_repetition(scores, previous, options.repetition_penalty);
  std::vector<double> probabilities(scores.size(), 0.0);
  if (options.temperature == 0) {
    const auto best = std::max_element(scores.begin(), scores.end());
    probabilities[static_cast<size_t>(best - scores.begin())] = 1.0;
    return probabilities;
  }
  std::vector<Candidate> candidates = weigh(scores, options.temperature);
  keep_top_k(candidates, options.top_k);
  keep_top_p(candidates, options.top_p);
  keep_min_p(candidates, options.min_p);
  double total = 0.0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  for (const Candidate& candidate : candidates) {
    probabilities[static_cast<size_t>(candidate.id)] = candidate.weight / total;
  }
  return probabilities;
}

int32_t sample_token(std::span<const double> logits, std::span<const int32_t> previous,
                     const SamplingOptions& options, Generator& generator) {
  const std::vector<double> probabilities = next_token_probabilities(logits, previous, options);
  double left = generator.uniform();
  int32_t chosen = 0;
  for (size_t id = 0; id < probabilities.size(); ++id) {
    if (probabilities[id] == 0) continue;
    chosen = static_cast<int32_t>(id);  // the last possible id if rounding leaves a remainder
    left -= probabilities[id];
    if (left < 0) break;
  }
  return chosen;
}

}  // namespace tapir::nn
