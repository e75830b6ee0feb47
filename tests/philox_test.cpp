#include "backends/philox.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "backends/random.h"

namespace tapir {
namespace {

// Known answers that the authors of Philox publish with their library (Random123, kat_vectors).
TEST(Philox, KnownAnswers) {
  const auto check = [](uint64_t seed, uint64_t counter, uint64_t stream,
                        std::array<uint32_t, 4> expected) {
    const PhiloxBlock block = philox(seed, counter, stream);
    for (size_t i = 0; i < 4; ++i) EXPECT_EQ(block.word[i], expected[i]) << i;
  };
  check(0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  check(~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  check(0x299f31d0a4093822, 0x85a308d3243f6a88, 0x0370734413198a2e,
        {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST(Philox, UniformIsExactInF32AndBelowOne) {
  EXPECT_EQ(uniform24(0), 0.0);
  EXPECT_LT(uniform24(0xffffffff), 1.0);
  EXPECT_EQ(static_cast<double>(static_cast<float>(uniform24(0xffffffff))), uniform24(0xffffffff));
  EXPECT_EQ(uniform24(0x80000000), 0.5);
}

std::vector<double> draw(RandomKind kind, int64_t count, double bound = 0) {
  std::vector<double> values(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i)
    values[static_cast<size_t>(i)] = random_element(kind, 42, 7, i, bound);
  return values;
}

struct Moments {
  double mean = 0, variance = 0, fourth = 0;
};

Moments moments_of(const std::vector<double>& values) {
  Moments m;
  const double n = static_cast<double>(values.size());
  for (const double v : values) m.mean += v / n;
  for (const double v : values) m.variance += (v - m.mean) * (v - m.mean) / n;
  for (const double v : values) m.fourth += std::pow(v - m.mean, 4) / n;
  return m;
}

constexpr int64_t kDraws = 200000;

// Tolerances are five standard errors of the moment in question.
TEST(Random, UniformMoments) {
  const Moments m = moments_of(draw(RandomKind::uniform, kDraws));
  EXPECT_NEAR(m.mean, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
  EXPECT_NEAR(m.variance, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / kDraws));
}

TEST(Random, NormalMoments) {
  const Moments m = moments_of(draw(RandomKind::normal, kDraws));
  EXPECT_NEAR(m.mean, 0, 5 / std::sqrt(kDraws));
  EXPECT_NEAR(m.variance, 1, 5 * std::sqrt(2.0 / kDraws));
  EXPECT_NEAR(m.fourth, 3, 5 * std::sqrt(96.0 / kDraws));
}

// Kolmogorov and Smirnov's distance to the normal distribution function; below 1.95 / sqrt(n) with
// probability 0.999.
TEST(Random, NormalDistribution) {
  std::vector<double> values = draw(RandomKind::normal, kDraws);
  std::sort(values.begin(), values.end());
  double distance = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    const double expected = 0.5 * std::erfc(-values[i] / std::sqrt(2.0));
    distance = std::max(distance, std::fabs(expected - static_cast<double>(i) / kDraws));
  }
  EXPECT_LT(distance, 1.95 / std::sqrt(kDraws));
}

// The variance of a normal distribution cut at +-b is 1 - 2 b phi(b) / (2 Phi(b) - 1).
TEST(Random, TruncatedNormal) {
  for (const double bound : {0.01, 0.5, 1.0, 2.0, 3.0}) {
    const std::vector<double> values = draw(RandomKind::truncated_normal, kDraws, bound);
    for (const double v : values) ASSERT_LE(std::fabs(v), bound);
    const double density = std::exp(-bound * bound / 2) / std::sqrt(2 * M_PI);
    const double variance = 1 - 2 * bound * density / std::erf(bound / std::sqrt(2.0));
    const Moments m = moments_of(values);
    EXPECT_NEAR(m.mean, 0, 5 * std::sqrt(variance / kDraws)) << bound;
    EXPECT_NEAR(m.variance, variance, 5 * std::sqrt(2.0 / kDraws) * variance) << bound;
  }
}

TEST(Random, ElementsFollowTheCounter) {
  for (const RandomKind kind :
       {RandomKind::uniform, RandomKind::normal, RandomKind::truncated_normal}) {
    for (int64_t i = 0; i < 8; ++i)
      EXPECT_EQ(random_element(kind, 3, 10, i + 4, 2), random_element(kind, 3, 11, i, 2));
    EXPECT_NE(random_element(kind, 3, 10, 0, 2), random_element(kind, 4, 10, 0, 2));
  }
}

TEST(Random, NeighboursAreUncorrelated) {
  const std::vector<double> values = draw(RandomKind::normal, kDraws);
  for (const size_t lag : {1u, 2u, 3u, 4u, 5u}) {
    double correlation = 0;
    for (size_t i = 0; i + lag < values.size(); ++i) correlation += values[i] * values[i + lag];
    EXPECT_NEAR(correlation / kDraws, 0, 5 / std::sqrt(kDraws)) << lag;
  }
}

}  // namespace
}  // namespace tapir
