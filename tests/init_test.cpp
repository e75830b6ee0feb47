// How parameters start: distribution, cut, and independence of everything but the seed.
#include "nn/init.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/norm.h"

namespace tapir::nn {
namespace {

// A standard normal cut at +-3 has variance 1 - 2 * 3 * phi(3) / (Phi(3) - Phi(-3)).
double cut_variance() {
  const double density = std::exp(-4.5) / std::sqrt(2.0 * std::acos(-1.0));
  return 1.0 - 6.0 * density / std::erf(3.0 / std::sqrt(2.0));
}

struct Statistics {
  double mean = 0, variance = 0, fourth = 0, largest = 0;
};

Statistics statistics(const Tensor& tensor, double std) {
  Statistics s;
  const std::vector<double> values = tensor.to_vector();
  const auto count = static_cast<double>(values.size());
  for (const double value : values) {
    const double z = value / std;
    s.mean += z / count;
    s.variance += z * z / count;
    s.fourth += z * z * z * z / count;
    s.largest = std::max(s.largest, std::fabs(z));
  }
  return s;
}

// Bounds are five standard errors of n = 120000 draws: 1 / sqrt(n) for the mean, sqrt(2 / n) and
// sqrt(96 / n), somewhat less for a cut normal, for the moments.
void expect_cut_normal(const Tensor& tensor, double std) {
  const Statistics s = statistics(tensor, std);
  ASSERT_GE(tensor.numel(), 120000);
  EXPECT_NEAR(s.mean, 0.0, 5 * 0.0029);
  EXPECT_NEAR(s.variance, cut_variance(), 5 * 0.0041);
  // E[z^4] of the cut normal by parts: 3 variance - 2 * 3^3 phi(3) / mass.
  const double fourth = 3.0 * cut_variance() - 9.0 * (1.0 - cut_variance());
  EXPECT_NEAR(s.fourth, fourth, 5 * 0.029);
  EXPECT_LE(s.largest, 3.0 * (1 + 1e-6));
  EXPECT_GT(s.largest, 2.9);
}

TEST(Init, LinearVarianceIsTwoOverFanInPlusFanOut) {
  Generator generator(5);
  const Linear layer(300, 400, generator, Bias::yes);
  expect_cut_normal(layer.weight, std::sqrt(2.0 / 700.0));
  EXPECT_EQ(layer.weight.shape(), (Shape{400, 300}));
  EXPECT_EQ(layer.bias.to_vector(), std::vector<double>(400, 0.0));
}

TEST(Init, AttentionProjectionsStartAsLinearLayers) {
  Generator generator(5);
  AttentionConfig config;
  config.d_model = 384;
  config.n_heads = 6;
  config.n_kv_heads = 6;
  const CausalSelfAttention layer(config, generator);
  for (const Linear* projection :
       {&layer.q_proj, &layer.k_proj, &layer.v_proj, &layer.output_proj}) {
    expect_cut_normal(projection->weight, std::sqrt(2.0 / 768.0));
  }
}

TEST(Init, EmbeddingIsUnitNormal) {
  Generator generator(6);
  expect_cut_normal(Embedding(1000, 128, generator).weight, 1.0);
  expect_cut_normal(Embedding(1000, 128, generator, 0.1).weight, 0.1);
}

TEST(Init, NormsStartAsOnesAndZeros) {
  const LayerNorm layer(7);
  EXPECT_EQ(layer.weight.to_vector(), std::vector<double>(7, 1.0));
  EXPECT_EQ(layer.bias.to_vector(), std::vector<double>(7, 0.0));
  EXPECT_FALSE(LayerNorm(7, Bias::no).bias.defined());
  EXPECT_EQ(RMSNorm(7).weight.to_vector(), std::vector<double>(7, 1.0));
}

TEST(Init, FollowsTheSeedAlone) {
  Generator first(7), again(7), other(8);
  const std::vector<double> values = Linear(5, 6, first).weight.to_vector();
  EXPECT_EQ(Linear(5, 6, again).weight.to_vector(), values);
  EXPECT_NE(Linear(5, 6, other).weight.to_vector(), values);
  EXPECT_NE(Linear(5, 6, first).weight.to_vector(), values) << "the generator must move on";
}

}  // namespace
}  // namespace tapir::nn
