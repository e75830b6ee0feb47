// Every layer, block and model against finite differences in f64: inputs and all parameters.
#include <gtest/gtest.h>

#include "autograd/gradcheck.h"
#include "nn/attention.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/rotary.h"
#include "tests/support/tiny_models.h"

namespace tapir::nn {
namespace {

using tapir::testing::NamedConfig;
using tapir::testing::random_ids;
using tapir::testing::randomize;
using tapir::testing::tiny_config;

Tensor random_input(const Shape& shape, Generator& generator) {
  return randn(shape, generator, DType::f64).set_requires_grad();
}

void expect_gradients(const std::function<Tensor()>& fn, const std::vector<NamedTensor>& tensors,
                      const GradcheckOptions& options = {}) {
  const GradcheckReport report = gradcheck(fn, tensors, options);
  EXPECT_TRUE(report.passed()) << report.to_string();
}

// A layer of one input.
template <typename Layer>
void check_layer(Layer& layer, const Shape& shape, const GradcheckOptions& options = {}) {
  Generator generator(51);
  randomize(layer, generator);
  const Tensor x = random_input(shape, generator);
  std::vector<NamedTensor> tensors = layer.named_parameters();
  tensors.push_back({"x", x});
  expect_gradients([&] { return layer(x); }, tensors, options);
}

// Enough elements of each tensor of a large module to meet every way through it.
GradcheckOptions sampled() {
  GradcheckOptions options;
  options.max_elements = 12;
  return options;
}

TEST(GradcheckLayers, Linear) {
  Generator generator(1);
  for (const auto bias : {Bias::no, Bias::yes}) {
    Linear layer(5, 3, generator, bias, DType::f64);
    check_layer(layer, {5});
    check_layer(layer, {2, 3, 5});
  }
}

TEST(GradcheckLayers, Embedding) {
  Generator generator(1);
  const Embedding layer(7, 4, generator, 1.0, DType::f64);
  const Tensor ids = Tensor::from(std::vector<int32_t>{3, 0, 3, 6, 3, 0}, {2, 3});
  expect_gradients([&] { return layer(ids); }, layer.named_parameters());
}

TEST(GradcheckLayers, Norms) {
  RMSNorm rms(6, 1e-5, DType::f64);
  check_layer(rms, {2, 3, 6});
  for (const auto bias : {Bias::no, Bias::yes}) {
    LayerNorm layer(6, bias, 1e-5, DType::f64);
    check_layer(layer, {2, 3, 6});
  }
}

TEST(GradcheckLayers, Rotary) {
  for (const auto layout : {RopeLayout::interleaved, RopeLayout::half_split}) {
    const RotaryEmbedding layer(6, 9, 50.0, layout, DType::f64);
    Generator generator(2);
    const Tensor x = random_input({2, 2, 4, 6}, generator);
    expect_gradients([&] { return layer(x); }, {{"x", x}});
    const Tensor positions = Tensor::from(std::vector<int32_t>{0, 8, 3, 3, 1, 2, 5, 7}, {2, 4});
    expect_gradients([&] { return layer(x, positions); }, {{"x", x}});
  }
}

TEST(GradcheckLayers, FeedForward) {
  Generator generator(3);
  for (const Bias bias : {Bias::no, Bias::yes}) {
    SwiGLU gated(4, 6, generator, DType::f64, kCpu, bias);
    check_layer(gated, {2, 3, 4});
  }
  for (const auto kind : {FeedForwardKind::silu, FeedForwardKind::relu, FeedForwardKind::gelu,
                          FeedForwardKind::gelu_tanh}) {
    FeedForward layer(4, 6, kind, generator, DType::f64, kCpu, Bias::yes);
    check_layer(layer, {2, 3, 4});
  }
}

TEST(GradcheckLayers, CausalSelfAttention) {
  for (const int64_t kv_heads : {4, 2, 1}) {
    AttentionConfig config;
    config.d_model = 8;
    config.n_heads = 4;
    config.n_kv_heads = kv_heads;
    config.qkv_bias = Bias::yes;
    config.output_bias = Bias::yes;
    config.rope_theta = 30.0;
    config.rope_scaling = {RopeScalingKind::llama3, 4.0, 0.5, 2.0, 8};
    config.max_seq_len = 5;
    Generator generator(4);
    CausalSelfAttention layer(config, generator, DType::f64);
    check_layer(layer, {2, 5, 8});
  }
}

TEST(GradcheckLayers, AttentionUnderAPaddingMask) {
  AttentionConfig config;
  config.d_model = 4;
  config.n_heads = 2;
  Generator generator(5);
  CausalSelfAttention layer(config, generator, DType::f64);
  const Tensor x = random_input({2, 3, 4}, generator);
  ForwardContext context;  // the first query of row 1 sees no key at all
  context.mask = Tensor::from({1, 1, 1, 0, 1, 1}, {2, 1, 1, 3}, DType::boolean);
  std::vector<NamedTensor> tensors = layer.named_parameters();
  tensors.push_back({"x", x});
  expect_gradients([&] { return layer(x, context); }, tensors);
}

class GradcheckOption : public ::testing::TestWithParam<NamedConfig> {};

TEST_P(GradcheckOption, Block) {
  Generator generator(6);
  TransformerBlock block(GetParam().config, generator, DType::f64);
  check_layer(block, {2, 3, 8}, sampled());
}

// Logits of a whole model, with dropout drawn alike each time, and through checkpoints.
TEST_P(GradcheckOption, Model) {
  TransformerConfig config = GetParam().config;
  config.dropout = 0.2;
  Generator generator(7);
  TransformerLM model(config, generator, DType::f64);
  randomize(model, generator);
  const Tensor ids = random_ids({2, 4}, config.vocab_size, generator);
  for (const bool with_checkpoints : {false, true}) {
    const auto run = [&] {
      Generator dropout(8);
      ForwardContext context;
      context.dropout = &dropout;
      context.checkpoint = with_checkpoints;
      return model(ids, context);
    };
    expect_gradients(run, model.named_parameters(), sampled());
  }
}

INSTANTIATE_TEST_SUITE_P(Options, GradcheckOption,
                         ::testing::ValuesIn(tapir::testing::option_configs()),
                         tapir::testing::config_name);

}  // namespace
}  // namespace tapir::nn
