#include "nn/sampling.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "backends/error.h"

namespace tapir::nn {
namespace {

constexpr std::string_view kOp = "sampling";

// A token that may still be drawn, with its probability up to a common factor.
struct Candidate {
  int32_t id;
  double weight;
};

// How many numbers are worked on side by side, which compilers make vector code of.
constexpr size_t kBlock = 8;

// The sum of value(x) in several sums, because each addition waits for the one before.
template <typename Value>
double total_of(std::span<const double> numbers, Value value) {
  double sums[kBlock] = {};
  size_t begin = 0;
  for (; begin + kBlock <= numbers.size(); begin += kBlock) {
    for (size_t i = 0; i < kBlock; ++i) sums[i] += value(numbers[begin + i]);
  }
  for (; begin < numbers.size(); ++begin) sums[0] += value(numbers[begin]);
  double total = 0.0;
  for (const double sum : sums) total += sum;
  return total;
}

double total_of(std::span<const double> weights) {
  return total_of(weights, [](double weight) { return weight; });
}

void require_finite(std::span<const double> logits) {
  require(!logits.empty(), kOp, "there are no logits to choose from");
  if (total_of(logits, [](double value) { return value * 0.0; }) == 0.0) return;
  const auto bad = std::find_if(logits.begin(), logits.end(),
                                [](double value) { return !std::isfinite(value); });
  fail(kOp, "the logit of id {} is {}; the model's weights or activations are not finite",
       bad - logits.begin(), *bad);
}

void penalize_repetition(std::vector<double>& logits, std::span<const int32_t> previous,
                         double penalty) {
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

// Replaces x <= 0 by exp(x), within 2 units in the last place, or by 0 where that is below 1e-307.
// Without branches, so that compilers make vector code of it: with a large vocabulary std::exp
// takes longer than a small model does. 2^n times the Taylor series of the rest, which is at most
// ln 2 / 2, so that the first term left out is below 2^-57.
void exponentials(std::span<double, kBlock> x) {
  constexpr double kRound = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
  constexpr double kReciprocals[] = {1.0 / 13, 1.0 / 12, 1.0 / 11, 1.0 / 10, 1.0 / 9,
                                     1.0 / 8,  1.0 / 7,  1.0 / 6,  1.0 / 5,  1.0 / 4,
                                     1.0 / 3,  1.0 / 2,  1.0};
  double rest[kBlock], power[kBlock], sum[kBlock];
  for (size_t i = 0; i < kBlock; ++i) {
    const double clamped = x[i] < -706.0 ? -706.0 : x[i];
    const double shifted = clamped * 1.44269504088896340736 + kRound;
    const double n = shifted - kRound;
    rest[i] = (clamped - n * kLn2High) - n * kLn2Low;
    const int64_t exponent = std::bit_cast<int64_t>(shifted) - std::bit_cast<int64_t>(kRound);
    power[i] = std::bit_cast<double>((exponent + 1023) << 52);
    sum[i] = 1.0;
  }
  for (const double reciprocal : kReciprocals) {
    for (size_t i = 0; i < kBlock; ++i) sum[i] = 1.0 + sum[i] * (rest[i] * reciprocal);
  }
  for (size_t i = 0; i < kBlock; ++i) x[i] = x[i] < -706.0 ? 0.0 : sum[i] * power[i];
}

// exp((logit - largest) / temperature) of every token: the largest weight is 1, so nothing
// overflows.
std::vector<double> weigh(std::span<const double> logits, double temperature) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  const size_t blocks = (logits.size() + kBlock - 1) / kBlock;
  std::vector<double> weights(blocks * kBlock);
  for (size_t i = 0; i < logits.size(); ++i) weights[i] = (logits[i] - largest) / temperature;
  for (size_t block = 0; block < blocks; ++block)
    exponentials(std::span<double, kBlock>(weights.data() + block * kBlock, kBlock));
  weights.resize(logits.size());
  return weights;
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

// Takes the likeliest from a heap, one after the other: few tokens have most of the probability,
// and sorting a large vocabulary takes longer than a small model does.
void keep_top_p(std::vector<Candidate>& candidates, double p) {
  if (p == 1.0) return;
  const auto ranks_after = [](const Candidate& a, const Candidate& b) {
    return ranks_before(b, a);
  };
  double total = 0.0;
  for (const Candidate& candidate : candidates) total += candidate.weight;
  std::make_heap(candidates.begin(), candidates.end(), ranks_after);
  double reached = 0.0;
  auto kept = candidates.end();  // those taken stand behind the heap
  while (kept != candidates.begin() && (kept == candidates.end() || reached < p * total)) {
    std::pop_heap(candidates.begin(), kept, ranks_after);
    reached += (--kept)->weight;
  }
  candidates.erase(candidates.begin(), kept);
}

// Every filter keeps the most likely token, whose weight is 1.
void keep_min_p(std::vector<Candidate>& candidates, double min_p) {
  std::erase_if(candidates, [min_p](const Candidate& c) { return c.weight < min_p; });
}

// Leaves weights to the tokens that the filters keep; the others get 0.
void filter(std::vector<double>& weights, const SamplingOptions& options) {
  if (options.top_k == 0 && options.top_p == 1.0 && options.min_p == 0.0) return;
  std::vector<Candidate> candidates(weights.size());
  for (size_t id = 0; id < weights.size(); ++id)
    candidates[id] = {static_cast<int32_t>(id), weights[id]};
  keep_top_k(candidates, options.top_k);
  keep_top_p(candidates, options.top_p);
  keep_min_p(candidates, options.min_p);
  std::fill(weights.begin(), weights.end(), 0.0);
  for (const Candidate& candidate : candidates)
    weights[static_cast<size_t>(candidate.id)] = candidate.weight;
}

// The logits after the repetition penalty; `storage` holds them if they changed.
std::span<const double> scores_for(std::span<const double> logits,
                                   std::span<const int32_t> previous,
                                   const SamplingOptions& options, std::vector<double>& storage) {
  options.validate();
  require_finite(logits);
  if (options.repetition_penalty == 1.0) return logits;
  storage.assign(logits.begin(), logits.end());
  penalize_repetition(storage, previous, options.repetition_penalty);
  return storage;
}

size_t likeliest(std::span<const double> scores) {
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

// The probabilities of the next token, up to a common factor.
std::vector<double> weights_for(std::span<const double> scores, const SamplingOptions& options) {
  std::vector<double> weights = weigh(scores, options.temperature);
  filter(weights, options);
  return weights;
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
  std::vector<double> storage;
  const std::span<const double> scores = scores_for(logits, previous, options, storage);
  if (options.temperature == 0) {
    std::vector<double> probabilities(scores.size(), 0.0);
    probabilities[likeliest(scores)] = 1.0;
    return probabilities;
  }
  std::vector<double> probabilities = weights_for(scores, options);
  const double total = total_of(probabilities);
  for (double& probability : probabilities) probability /= total;
  return probabilities;
}

int32_t sample_token(std::span<const double> logits, std::span<const int32_t> previous,
                     const SamplingOptions& options, Generator& generator) {
  std::vector<double> storage;
  const std::span<const double> scores = scores_for(logits, previous, options, storage);
  const double drawn = generator.uniform();
  if (options.temperature == 0) return static_cast<int32_t>(likeliest(scores));
  const std::vector<double> weights = weights_for(scores, options);
  double left = drawn * total_of(weights);
  int32_t chosen = 0;
  for (size_t id = 0; id < weights.size(); ++id) {
    if (weights[id] == 0) continue;
    chosen = static_cast<int32_t>(id);  // the last possible id if rounding leaves a remainder
    left -= weights[id];
    if (left < 0) break;
  }
  return chosen;
}

}  // namespace tapir::nn
