// Models on the weights of a file, and RoPE's scaling.
#include "nn/adopt.h"

#include <cmath>

#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "nn/init.h"
#include "nn/transformer.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_models.h"

namespace tapir::nn {
namespace {

using testing::expect_error;

TransformerConfig tiny(bool tied) {
  TransformerConfig config = testing::tiny_config();
  config.tie_embeddings = tied;
  return config;
}

Tensor some_ids() {
  return Tensor::from({3, 10, 0, 7}, {1, 4}, DType::i32);
}

TEST(Adopt, TheModelComputesWithTheGivenTensorsThemselves) {
  for (const bool tied : {false, true}) {
    Generator generator(3);
    const TransformerLM original(tiny(tied), generator);
    const StateDict state = original.state_dict();
    const WithoutValues scope;
    TransformerLM model(tiny(tied), generator);
    EXPECT_EQ(model.token_embeddings.weight.storage().bytes(), sizeof(float));
    adopt_state_dict(model, state);
    EXPECT_EQ(model(some_ids()).to_vector(), original(some_ids()).to_vector());
    EXPECT_EQ(model.token_embeddings.weight.view().data,
              original.token_embeddings.weight.view().data);
    EXPECT_EQ(model.lm_head.weight.is(model.token_embeddings.weight), tied);
    EXPECT_EQ(model.parameter_count(), original.parameter_count());
    for (const Tensor& parameter : model.parameters()) EXPECT_TRUE(parameter.requires_grad());
  }
}

TEST(Adopt, WithoutValuesEndsWithItsScope) {
  Generator generator(3);
  { const WithoutValues scope; }
  const Linear layer(2, 3, generator);
  EXPECT_EQ(layer.weight.storage().bytes(), 6 * sizeof(float));
}

TEST(Adopt, OtherDtypesAreConverted) {
  Generator generator(3);
  Linear layer(2, 2, generator);
  const Tensor half = Tensor::from({1, 2, 3, 0.5}, {2, 2}, DType::bf16);
  adopt_state_dict(layer, {{"weight", half}});
  EXPECT_EQ(layer.weight.dtype(), DType::f32);
  EXPECT_EQ(layer.weight.to_vector(), (std::vector<double>{1, 2, 3, 0.5}));
}

TEST(Adopt, WhatDoesNotFitIsListedBeforeAnythingChanges) {
  Generator generator(3);
  Linear layer(2, 2, generator, Bias::yes);
  const Tensor before = layer.weight;
  expect_error(
      [&] {
        adopt_state_dict(layer, {{"weight", Tensor::ones({2, 3})}, {"scale", Tensor::ones({2})}});
      },
      {"weight is [2, 3], must be [2, 2]", "missing bias", "unexpected scale"});
  EXPECT_TRUE(layer.weight.is(before));
}

// Worked out by hand: with 100 positions, a frequency of 2 pi f turns 100 f times.
TEST(RopeScaling, DividesLowFrequencies) {
  const double turn = 2 * 3.14159265358979323846 / 100;
  RopeScaling scaling{RopeScalingKind::llama3, 8, 1, 4, 100};
  EXPECT_NEAR(frequency_divisor(10 * turn, scaling), 1, 1e-12);
  EXPECT_NEAR(frequency_divisor(4 * turn, scaling), 1, 1e-12);
  EXPECT_NEAR(frequency_divisor(0.5 * turn, scaling), 8, 1e-12);
  EXPECT_NEAR(frequency_divisor(1 * turn, scaling), 8, 1e-12);
  // Half way between 1 and 4 turns: the frequency is half scaled, (1/8 + 1) / 2 of itself.
  EXPECT_NEAR(frequency_divisor(2.5 * turn, scaling), 16.0 / 9, 1e-12);
  scaling.kind = RopeScalingKind::linear;
  EXPECT_EQ(frequency_divisor(10 * turn, scaling), 8);
  scaling.kind = RopeScalingKind::none;
  EXPECT_EQ(frequency_divisor(0.1 * turn, scaling), 1);
}

TEST(RopeScaling, TablesUseItAndLayersShareThem) {
  const RopeScaling scaling{RopeScalingKind::linear, 4, 1, 4, 8192};
  const RotaryEmbedding plain(4, 20, 100.0);
  const RotaryEmbedding scaled(4, 20, 100.0, RopeLayout::interleaved, DType::f32, kCpu, scaling);
  const RotaryEmbedding again(4, 20, 100.0, RopeLayout::half_split, DType::f32, kCpu, scaling);
  EXPECT_EQ(scaled.cos.to_vector()[2 * 12 + 1], plain.cos.to_vector()[2 * 3 + 1]);
  EXPECT_TRUE(scaled.cos.is(again.cos));
  EXPECT_FALSE(scaled.cos.is(plain.cos));
}

TEST(RopeScaling, ImpossibleValuesAreNamed) {
  const auto bad = [](const RopeScaling& scaling, const std::string& part) {
    expect_error([&] { scaling.validate(); }, {"rope_scaling", part});
    TransformerConfig config = tiny(false);
    config.rope_scaling = scaling;
    expect_error([&] { config.validate(); }, {part});
  };
  bad({RopeScalingKind::linear, 0.5, 1, 4, 10}, "factor is 0.5");
  bad({RopeScalingKind::linear, INFINITY, 1, 4, 10}, "factor is inf");
  bad({RopeScalingKind::llama3, 2, 4, 4, 10}, "low_freq_factor 4");
  bad({RopeScalingKind::llama3, 2, 0, 4, 10}, "low_freq_factor 0");
  bad({RopeScalingKind::llama3, 2, 1, 4, 0}, "original_context is 0");
  expect_error([] { parse_rope_scaling("yarn"); }, {"rope_scaling: there is no 'yarn'", "llama3"});
}

}  // namespace
}  // namespace tapir::nn
