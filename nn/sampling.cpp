#include "nn/sampling.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "autograd/tensor.h"

namespace tapir::nn {
namespace {

constexpr std::string_view kOp = "sampling";

// A token that may still be drawn, with its probability up to a common factor.
struct Candidate {
  int32_t id;
  double weight;
};

constexpr int64_t kBlock = Backend::kDrawBlock;

ConstView view_of(std::span<const double> logits) {
  return {logits.data(), DType::f64, {static_cast<int64_t>(logits.size())}, {1}};
}

std::vector<double> in_f64(ConstView logits) {
  std::vector<double> values(static_cast<size_t>(logits.numel()));
  backend(kCpu).copy(logits, {values.data(), DType::f64, logits.shape, {1}});
  return values;
}

[[noreturn]] void fail_with_bad(std::span<const double> logits) {
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

// What a token is drawn from: weights, and the sum of each block of them, which finds the block of
// the token in few steps.
class Weights {
 public:
  Weights(ConstView logits, double temperature)
      : weights_(Tensor::empty(logits.shape, DType::f64)),
        sums_(Tensor::empty({(logits.numel() + kBlock - 1) / kBlock}, DType::f64)) {
    if (!backend(kCpu).draw_weights(logits, temperature, weights_.view(), sums_.view()))
      fail_with_bad(in_f64(logits));
  }

  std::span<double> weights() const {
    return {weights_.data<double>(), static_cast<size_t>(weights_.numel())};
  }
  std::span<double> sums() const {
    return {sums_.data<double>(), static_cast<size_t>(sums_.numel())};
  }
  std::span<double> block(size_t index) const {
    const size_t begin = index * static_cast<size_t>(kBlock);
    return weights().subspan(begin, std::min(weights().size() - begin, size_t{kBlock}));
  }
  double total() const { return std::accumulate(sums().begin(), sums().end(), 0.0); }

  // After a change of weights.
  void renew_sums() {
    for (size_t i = 0; i < sums().size(); ++i)
      sums()[i] = std::accumulate(block(i).begin(), block(i).end(), 0.0);
  }

  // The id at which the sum of weights exceeds `left`; rounding may leave a remainder, and then it
  // is the last possible one.
  size_t find(double left) const {
    size_t chosen = 0;
    for (size_t i = 0; i < sums().size(); ++i) {
      if (sums()[i] == 0) continue;
      chosen = i;
      if (left < sums()[i]) break;
      left -= sums()[i];
    }
    const std::span<const double> within = block(chosen);
    size_t id = 0;
    for (size_t i = 0; i < within.size(); ++i) {
      if (within[i] == 0) continue;
      id = i;
      left -= within[i];
      if (left < 0) break;
    }
    return chosen * static_cast<size_t>(kBlock) + id;
  }

 private:
  Tensor weights_, sums_;
};

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
void filter(Weights& all, const SamplingOptions& options) {
  if (options.top_k == 0 && options.top_p == 1.0 && options.min_p == 0.0) return;
  const std::span<double> weights = all.weights();
  std::vector<Candidate> candidates(weights.size());
  for (size_t id = 0; id < weights.size(); ++id)
    candidates[id] = {static_cast<int32_t>(id), weights[id]};
  keep_top_k(candidates, options.top_k);
  keep_top_p(candidates, options.top_p);
  keep_min_p(candidates, options.min_p);
  std::fill(weights.begin(), weights.end(), 0.0);
  for (const Candidate& candidate : candidates)
    weights[static_cast<size_t>(candidate.id)] = candidate.weight;
  all.renew_sums();
}

// The logits after the repetition penalty; `storage` holds them if they changed.
ConstView scores_for(ConstView logits, std::span<const int32_t> previous,
                     const SamplingOptions& options, std::vector<double>& storage) {
  options.validate();
  require(logits.numel() > 0, kOp, "there are no logits to choose from");
  if (options.repetition_penalty == 1.0) return logits;
  storage = in_f64(logits);
  if (backend(kCpu).count_nonfinite(logits) != 0) fail_with_bad(storage);
  penalize_repetition(storage, previous, options.repetition_penalty);
  return view_of(storage);
}

int32_t likeliest(ConstView logits) {
  if (backend(kCpu).count_nonfinite(logits) != 0) fail_with_bad(in_f64(logits));
  int32_t id = 0;
  backend(kCpu).argmax(logits, {&id, DType::i32, {}, {}});
  return id;
}

// The probabilities of the next token, up to a common factor.
Weights weights_for(ConstView scores, const SamplingOptions& options) {
  Weights weights(scores, options.temperature);
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
  const ConstView scores = scores_for(view_of(logits), previous, options, storage);
  if (options.temperature == 0) {
    std::vector<double> probabilities(logits.size(), 0.0);
    probabilities[static_cast<size_t>(likeliest(scores))] = 1.0;
    return probabilities;
  }
  const Weights weights = weights_for(scores, options);
  std::vector<double> probabilities(weights.weights().begin(), weights.weights().end());
  const double total = weights.total();
  for (double& probability : probabilities) probability /= total;
  return probabilities;
}

int32_t sample_token(ConstView logits, std::span<const int32_t> previous,
                     const SamplingOptions& options, Generator& generator) {
  std::vector<double> storage;
  const ConstView scores = scores_for(logits, previous, options, storage);
  const double drawn = generator.uniform();
  if (options.temperature == 0) return likeliest(scores);
  const Weights weights = weights_for(scores, options);
  return static_cast<int32_t>(weights.find(drawn * weights.total()));
}

int32_t sample_token(std::span<const double> logits, std::span<const int32_t> previous,
                     const SamplingOptions& options, Generator& generator) {
  return sample_token(view_of(logits), previous, options, generator);
}

}  // namespace tapir::nn
