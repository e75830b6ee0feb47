// Sampling filters against a plain implementation of their definitions, edges, ties and errors.
#include "nn/sampling.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include "backends/cpu/threads.h"
#include "tests/support/expect_error.h"

namespace tapir::nn {
namespace {

using tapir::testing::expect_error;

using Probabilities = std::vector<double>;

Probabilities softmax_of(std::vector<double> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double total = 0;
  for (double& value : logits) total += value = std::exp(value - largest);
  for (double& value : logits) value /= total;
  return logits;
}

Probabilities renormalised(Probabilities p) {
  double total = 0;
  for (const double value : p) total += value;
  for (double& value : p) value /= total;
  return p;
}

// How many tokens come before `id` in descending probability, ties by id.
int64_t rank_of(const Probabilities& p, size_t id) {
  int64_t rank = 0;
  for (size_t other = 0; other < p.size(); ++other) {
    rank += p[other] > p[id] || (p[other] == p[id] && other < id);
  }
  return rank;
}

// The definitions one after the other, each in the slowest and plainest way.
Probabilities plain(std::vector<double> logits, const std::vector<int32_t>& previous,
                    const SamplingOptions& o) {
  for (size_t id = 0; id < logits.size(); ++id) {
    if (std::count(previous.begin(), previous.end(), static_cast<int32_t>(id)) == 0) continue;
    logits[id] =
        logits[id] > 0 ? logits[id] / o.repetition_penalty : logits[id] * o.repetition_penalty;
  }
  for (double& value : logits) value /= o.temperature;
  Probabilities p = softmax_of(logits);
  if (o.top_k > 0) {
    Probabilities kept = p;
    for (size_t id = 0; id < p.size(); ++id)
      if (rank_of(p, id) >= o.top_k) kept[id] = 0;
    p = renormalised(kept);
  }
  Probabilities kept = p;
  for (size_t id = 0; id < p.size(); ++id) {
    double before = 0;  // of all tokens that rank higher
    for (size_t other = 0; other < p.size(); ++other)
      if (rank_of(p, other) < rank_of(p, id)) before += p[other];
    if (o.top_p < 1 && before >= o.top_p) kept[id] = 0;
  }
  p = renormalised(kept);
  const double largest = *std::max_element(p.begin(), p.end());
  for (double& value : p)
    if (value < o.min_p * largest) value = 0;
  return renormalised(p);
}

std::vector<double> logs(std::vector<double> probabilities) {
  for (double& value : probabilities) value = std::log(value);
  return probabilities;
}

std::vector<int32_t> support(const Probabilities& p) {
  std::vector<int32_t> ids;
  for (size_t id = 0; id < p.size(); ++id)
    if (p[id] > 0) ids.push_back(static_cast<int32_t>(id));
  return ids;
}

using Ids = std::vector<int32_t>;

TEST(Sampling, EveryCombinationMatchesThePlainDefinition) {
  Generator generator(31);
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<double> logits;
    const size_t vocab = 1 + generator.below(12);
    for (size_t i = 0; i < vocab; ++i) logits.push_back(6 * generator.uniform() - 3);
    if (vocab > 3) logits[3] = logits[1];  // a tie
    Ids previous;
    for (uint64_t i = generator.below(6); i > 0; --i) {
      previous.push_back(static_cast<int32_t>(generator.below(vocab)));
    }
    SamplingOptions options;
    options.temperature = 0.2 + 2 * generator.uniform();
    if (generator.below(2)) options.top_k = static_cast<int64_t>(generator.below(vocab + 2));
    if (generator.below(2)) options.top_p = 1.0 - generator.uniform();
    if (generator.below(2)) options.min_p = generator.uniform();
    if (generator.below(2)) options.repetition_penalty = 0.5 + generator.uniform();
    const Probabilities expected = plain(logits, previous, options);
    const Probabilities actual = next_token_probabilities(logits, previous, options);
    for (size_t id = 0; id < vocab; ++id) {
      EXPECT_NEAR(actual[id], expected[id], 1e-12) << "trial " << trial << " id " << id;
    }
  }
}

TEST(Sampling, TemperatureZeroTakesTheFirstLargest) {
  const std::vector<double> logits{1.0, 5.0, 5.0, -2.0};
  EXPECT_EQ(next_token_probabilities(logits, {}, {.temperature = 0}), (Probabilities{0, 1, 0, 0}));
  // The penalty comes first, so a repeated token can lose.
  EXPECT_EQ(next_token_probabilities(logits, Ids{1}, {.temperature = 0, .repetition_penalty = 2}),
            (Probabilities{0, 0, 1, 0}));
}

TEST(Sampling, ExtremeTemperaturesStayFinite) {
  const std::vector<double> logits{1e300, -1e300, 0.0};
  EXPECT_EQ(next_token_probabilities(logits, {}, {.temperature = 1e-300}),
            (Probabilities{1, 0, 0}));
  for (const double p :
       next_token_probabilities(std::vector{3.0, 1.0, 2.0}, {}, {.temperature = 1e300})) {
    EXPECT_NEAR(p, 1.0 / 3, 1e-12);
  }
}

TEST(Sampling, TopKKeepsExactlyKWithTiesByLowestId) {
  const std::vector<double> logits{0.0, 1.0, 1.0, 1.0, 2.0};
  const auto kept = [&](int64_t k) {
    return support(next_token_probabilities(logits, {}, {.top_k = k}));
  };
  EXPECT_EQ(kept(0).size(), 5u);
  EXPECT_EQ(kept(1), (Ids{4}));
  EXPECT_EQ(kept(3), (Ids{1, 2, 4}));
  EXPECT_EQ(kept(99).size(), 5u);
}

TEST(Sampling, TopPKeepsTheTokenThatReachesP) {
  const std::vector<double> logits = logs({0.125, 0.5, 0.125, 0.25});
  const auto kept = [&](double p) {
    return support(next_token_probabilities(logits, {}, {.top_p = p}));
  };
  EXPECT_EQ(kept(1e-9), (Ids{1})) << "always at least one";
  EXPECT_EQ(kept(0.49), (Ids{1}));
  EXPECT_EQ(kept(0.51), (Ids{1, 3}));
  EXPECT_EQ(kept(0.74), (Ids{1, 3}));
  EXPECT_EQ(kept(0.76), (Ids{0, 1, 3})) << "of equal ones the lowest id";
  EXPECT_EQ(kept(0.99), (Ids{0, 1, 2, 3}));
  EXPECT_EQ(kept(1.0), (Ids{0, 1, 2, 3}));
}

TEST(Sampling, TopPStopsWhenPIsReachedExactly) {
  const std::vector<double> equal(4, 0.0);  // probabilities of 1/4 are exact
  EXPECT_EQ(support(next_token_probabilities(equal, {}, {.top_p = 0.5})), (Ids{0, 1}));
}

TEST(Sampling, MinPComparesWithTheMostLikely) {
  const std::vector<double> logits = logs({0.1, 0.6, 0.3});
  const auto kept = [&](double p) {
    return support(next_token_probabilities(logits, {}, {.min_p = p}));
  };
  EXPECT_EQ(kept(0.0), (Ids{0, 1, 2}));
  EXPECT_EQ(kept(0.16), (Ids{0, 1, 2}));
  EXPECT_EQ(kept(0.17), (Ids{1, 2}));
  EXPECT_EQ(kept(1.0), (Ids{1}));
}

TEST(Sampling, FiltersSeeWhatTheOneBeforeLeft) {
  // Of {0.4, 0.3, 0.2, 0.1} top-k 2 leaves {4/7, 3/7}; only then is 4/7 enough for top-p 0.5.
  const std::vector<double> logits = logs({0.4, 0.3, 0.2, 0.1});
  EXPECT_EQ(support(next_token_probabilities(logits, {}, {.top_k = 2, .top_p = 0.5})), (Ids{0}));
  EXPECT_EQ(support(next_token_probabilities(logits, {}, {.top_p = 0.5})), (Ids{0, 1}));
  // Temperature comes before top-p: at 0.5 the probabilities are {16, 9, 4, 1} / 30.
  EXPECT_EQ(support(next_token_probabilities(logits, {}, {.temperature = 0.5, .top_p = 0.53})),
            (Ids{0}));
}

TEST(Sampling, RepetitionPenaltyPushesBothSignsDownOnce) {
  const std::vector<double> logits{2.0, -1.0, 0.5, 2.0};
  const Probabilities p =
      next_token_probabilities(logits, Ids{0, 1, 0, 0}, {.repetition_penalty = 2.0});
  const Probabilities expected = softmax_of({1.0, -2.0, 0.5, 2.0});
  for (size_t id = 0; id < 4; ++id) EXPECT_NEAR(p[id], expected[id], 1e-15);
}

TEST(Sampling, DrawsFollowTheProbabilities) {
  const Probabilities p{0.05, 0.2, 0.0, 0.5, 0.25};
  const std::vector<double> logits{std::log(0.05), std::log(0.2), -1e9, std::log(0.5),
                                   std::log(0.25)};
  Generator generator(32);
  constexpr int kDraws = 40000;
  std::vector<int> counts(p.size(), 0);
  for (int i = 0; i < kDraws; ++i)
    ++counts[static_cast<size_t>(sample_token(logits, {}, {}, generator))];
  double chi_squared = 0;
  for (const size_t id : {0, 1, 3, 4}) {
    const double expected = kDraws * p[id];
    chi_squared += (counts[id] - expected) * (counts[id] - expected) / expected;
  }
  EXPECT_EQ(counts[2], 0);
  EXPECT_LT(chi_squared, 16.3);  // 3 degrees of freedom: exceeded once in a thousand
}

// Ratios of probabilities are exponentials; std::exp is the reference. Logits of a large
// vocabulary, from 0 to below the smallest double.
TEST(Sampling, ProbabilitiesOfEveryMagnitudeAreExact) {
  std::vector<double> logits;
  for (int i = 0; i <= 7600; ++i) logits.push_back(-i / 10.0);
  const Probabilities p = next_token_probabilities(logits, {}, {});
  for (size_t id = 0; id < logits.size(); ++id) {
    const double expected = std::exp(logits[id]);
    // Two units in the last place, and one for the division; the smallest may become 0.
    EXPECT_NEAR(p[id] / p[0], expected, 3 * 2.3e-16 * expected + 1e-306) << logits[id];
  }
}

// Many blocks of weights, most of them without any: tokens beyond a block's end are found as well.
// The same draws from f32, whose numbers here are exact.
TEST(Sampling, DrawsFromALargeVocabularyFollowTheProbabilities) {
  constexpr size_t kVocabulary = 2001;
  const std::vector<std::pair<size_t, double>> likely{
      {0, 0.125}, {255, 0.25}, {256, 0.125}, {1300, 0.25}, {2000, 0.25}};
  std::vector<double> logits(kVocabulary, -1e9);
  std::vector<float> narrow(kVocabulary, -1e9f);
  for (const auto& [id, p] : likely) {
    narrow[id] = static_cast<float>(std::log(p));
    logits[id] = static_cast<double>(narrow[id]);
  }
  const ConstView view{narrow.data(), DType::f32, {int64_t{kVocabulary}}, {1}};
  Generator generator(33), same(33);
  constexpr int kDraws = 20000;
  std::map<size_t, int> counts;
  for (int i = 0; i < kDraws; ++i) {
    const int32_t id = sample_token(logits, {}, {}, generator);
    EXPECT_EQ(sample_token(view, {}, {}, same), id);
    ++counts[static_cast<size_t>(id)];
  }
  double chi_squared = 0;
  for (const auto& [id, p] : likely) {
    const double expected = kDraws * p;
    chi_squared += (counts[id] - expected) * (counts[id] - expected) / expected;
  }
  EXPECT_EQ(counts.size(), likely.size());
  EXPECT_LT(chi_squared, 18.5);  // 4 degrees of freedom: exceeded once in a thousand
}

// Weights and their sums do not depend on how many threads there are.
TEST(Sampling, ThreadsChangeNoBit) {
  std::vector<double> logits;
  for (int i = 0; i < 50000; ++i) logits.push_back(std::sin(i) * 5);
  const int before = cpu::threads();
  cpu::set_threads(1);
  const Probabilities expected = next_token_probabilities(logits, {}, {.temperature = 0.7});
  cpu::set_threads(3);
  EXPECT_EQ(next_token_probabilities(logits, {}, {.temperature = 0.7}), expected);
  cpu::set_threads(before);
}

TEST(Sampling, DrawsRepeatPerSeed) {
  const std::vector<double> logits(50, 0.0);
  const auto draw = [&](uint64_t seed) {
    Generator generator(seed);
    Ids ids;
    for (int i = 0; i < 20; ++i) ids.push_back(sample_token(logits, {}, {}, generator));
    return ids;
  };
  EXPECT_EQ(draw(1), draw(1));
  EXPECT_NE(draw(1), draw(2));
}

TEST(Sampling, NonFiniteLogitsAreErrors) {
  for (const double bad : {static_cast<double>(NAN), HUGE_VAL, -HUGE_VAL}) {
    expect_error(
        [&] {
          next_token_probabilities(std::vector{0.0, 1.0, bad, bad}, {}, {});
        },
        {"sampling: the logit of id 2 is ", "not finite"});
  }
  expect_error([] { next_token_probabilities({}, {}, {}); }, {"sampling: there are no logits"});
}

TEST(Sampling, ImpossibleOptionsAreErrors) {
  const auto bad = [](const SamplingOptions& options, const std::string& message) {
    expect_error(
        [&] {
          next_token_probabilities(std::vector{0.0, 1.0}, {}, options);
        },
        {"sampling: " + message});
  };
  bad({.temperature = -0.1}, "temperature is -0.1, must be at least 0");
  bad({.temperature = NAN}, "temperature is nan");
  bad({.temperature = HUGE_VAL}, "temperature is inf");
  bad({.top_k = -1}, "top_k is -1, must be at least 0");
  bad({.top_p = 0}, "top_p is 0, must be in (0, 1]");
  bad({.top_p = -0.5}, "top_p is -0.5");
  bad({.top_p = 1.5}, "top_p is 1.5");
  bad({.top_p = NAN}, "top_p is nan");
  bad({.min_p = -0.1}, "min_p is -0.1, must be in [0, 1]");
  bad({.min_p = 1.1}, "min_p is 1.1");
  bad({.repetition_penalty = 0}, "repetition_penalty is 0, must be above 0");
  bad({.repetition_penalty = HUGE_VAL}, "repetition_penalty is inf");
  expect_error(
      [] { next_token_probabilities(std::vector{0.0}, Ids{1}, {.repetition_penalty = 2}); },
      {"sampling: previous id 1 is outside of the vocabulary of 1"});
  expect_error(
      [] {
        next_token_probabilities(std::vector{0.0, 1e300}, Ids{1}, {.repetition_penalty = 1e-300});
      },
      {"repetition_penalty 1e-300 makes the logit of id 1 infinite"});
}

}  // namespace
}  // namespace tapir::nn
