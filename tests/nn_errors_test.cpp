// What a user of the layers can get wrong: every message names operation, layer path and values.
#include "nn/transformer.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_models.h"

namespace tapir::nn {
namespace {

using tapir::testing::expect_error;
using tapir::testing::random_ids;
using tapir::testing::tiny_config;

Tensor ids_of(const std::vector<int32_t>& ids, const Shape& shape) {
  return Tensor::from(std::span<const int32_t>(ids), shape);
}

TEST(NnErrors, ConfigNamesTheField) {
  const auto bad = [](auto change, const std::string& message) {
    TransformerConfig config = tiny_config();
    change(config);
    expect_error([&] { config.validate(); }, {"transformer_config: " + message});
    Generator generator;
    EXPECT_THROW(TransformerLM(config, generator), Error);
  };
  using Config = TransformerConfig;
  bad([](Config& c) { c.vocab_size = 0; }, "vocab_size is 0, must be in [1, ");
  bad([](Config& c) { c.max_seq_len = -1; }, "max_seq_len is -1");
  bad([](Config& c) { c.d_model = int64_t{1} << 40; }, "d_model is 1099511627776");
  bad([](Config& c) { c.n_layers = 0; }, "n_layers is 0");
  bad([](Config& c) { c.n_layers = 5000; }, "n_layers is 5000, must be in [1, 4096]");
  bad([](Config& c) { c.n_heads = 0; }, "n_heads is 0");
  bad([](Config& c) { c.n_kv_heads = 0; }, "n_kv_heads is 0");
  bad([](Config& c) { c.d_ff = -5; }, "d_ff is -5");
  bad([](Config& c) { c.n_heads = 3; }, "d_model 8 is not divisible by n_heads 3");
  bad([](Config& c) { c.n_kv_heads = 3; }, "n_heads 2 is not a multiple of n_kv_heads 3");
  bad([](Config& c) { c.norm_eps = 0; }, "norm_eps is 0, must be positive");
  bad([](Config& c) { c.rope_theta = -1.0; }, "rope_theta is -1, must be positive");
  bad([](Config& c) { c.n_heads = 8; },
      "rope rotates pairs, but the head dimension d_model / n_heads");
  bad([](Config& c) { c.dropout = 1.0; }, "dropout is 1, must be in [0, 1)");
}

TEST(NnErrors, OptionNames) {
  expect_error([] { parse_norm_kind("batch"); }, {"norm: there is no 'batch'", "rms, layer, none"});
  expect_error([] { parse_norm_position("mid"); },
               {"norm_position: there is no 'mid'", "pre, post"});
  expect_error([] { parse_feed_forward_kind(""); },
               {"ffn: there is no ''", "swiglu, silu, relu, gelu, gelu_tanh"});
  expect_error([] { parse_rope_layout("Interleaved"); },
               {"rope_layout: there is no 'Interleaved'", "interleaved, half_split"});
  for (const auto kind : {NormKind::rms, NormKind::layer, NormKind::none}) {
    EXPECT_EQ(parse_norm_kind(name_of(kind)), kind);
  }
  for (const auto position : {NormPosition::pre, NormPosition::post}) {
    EXPECT_EQ(parse_norm_position(name_of(position)), position);
  }
  for (const auto kind : {FeedForwardKind::swiglu, FeedForwardKind::silu, FeedForwardKind::relu,
                          FeedForwardKind::gelu, FeedForwardKind::gelu_tanh}) {
    EXPECT_EQ(parse_feed_forward_kind(name_of(kind)), kind);
  }
  for (const auto layout : {RopeLayout::interleaved, RopeLayout::half_split}) {
    EXPECT_EQ(parse_rope_layout(name_of(layout)), layout);
  }
}

TEST(NnErrors, LayerSizes) {
  Generator generator;
  expect_error([&] { Linear(0, 3, generator); },
               {"linear: in and out must be positive, got 0 and 3"});
  expect_error([&] { Linear(Tensor::zeros({3})); }, {"linear: weight must be [out, in], got [3]"});
  expect_error([&] { Embedding(0, 3, generator); }, {"embedding: vocab_size and width"});
  expect_error([&] { Embedding(2, 3, generator, -1.0); }, {"embedding: init_std is -1"});
  expect_error([] { RMSNorm(0); }, {"rms_norm: width is 0"});
  expect_error([] { RMSNorm(3, -1e-5); }, {"rms_norm: eps is -1e-05"});
  expect_error([] { LayerNorm(-1); }, {"layer_norm: width is -1"});
  expect_error([] { RotaryEmbedding(5, 4); }, {"rope: the head dimension is 5, must be even"});
  expect_error([] { RotaryEmbedding(4, 0); }, {"rope: max_seq_len is 0"});
  expect_error([] { RotaryEmbedding(4, 4, 0.0); }, {"rope: theta is 0"});
  expect_error([] { Dropout(1.0); }, {"dropout: probability is 1, must be in [0, 1)"});
  expect_error([] { Dropout(-0.1); }, {"dropout: probability is -0.1"});
  expect_error([&] { FeedForward(4, 8, FeedForwardKind::swiglu, generator); },
               {"feed_forward: swiglu is not an activation"});
  const auto attention = [&](int64_t width, int64_t heads, int64_t kv_heads) {
    AttentionConfig config;
    config.d_model = width;
    config.n_heads = heads;
    config.n_kv_heads = kv_heads;
    CausalSelfAttention(config, generator);
  };
  expect_error([&] { attention(10, 3, 3); },
               {"attention: d_model 10 is not divisible by n_heads 3"});
  expect_error([&] { attention(12, 4, 3); },
               {"attention: n_heads 4 is not a multiple of n_kv_heads 3"});
  expect_error([&] { attention(12, 0, 1); },
               {"attention: d_model, n_heads and n_kv_heads must be"});
}

TEST(NnErrors, RotaryPositions) {
  const RotaryEmbedding rope(4, 6);
  expect_error(
      [&] {
        rope(Tensor::zeros({2, 3, 8}));
      },
      {"rope: x is [2, 3, 8], must be [..., T, 4]"});
  expect_error([&] { rope(Tensor::zeros({7, 4})); }, {"rope: 7 positions exceed max_seq_len 6"});
  expect_error(
      [&] {
        rope(Tensor::zeros({2, 4}), ids_of({0, 6}, {2}));
      },
      {"rope: position 6", "max_seq_len"});
  expect_error([&] { rope(Tensor::zeros({2, 4}), ids_of({0, -1}, {2})); }, {"rope: position -1"});
}

// Errors from inside a model name the layer.
TEST(NnErrors, MessagesNameTheLayer) {
  Generator generator(1);
  TransformerLM model(tiny_config(), generator);
  expect_error(
      [&] {
        model(ids_of({1, 13}, {1, 2}));
      },
      {"embedding (in token_embeddings): ", "13"});
  expect_error([&] { model(ids_of({1, 2}, {2})); }, {"transformer: ids are [2], must be [B, T]"});
  expect_error(
      [&] {
        model(random_ids({1, 9}, 13, generator));
      },
      {"transformer: 9 positions exceed max_seq_len 8"});
  expect_error([&] { model(Tensor::zeros({1, 2})); }, {"embedding (in token_embeddings): ", "i32"});

  ForwardContext context;
  context.positions = ids_of({0, 8}, {2});
  expect_error(
      [&] {
        model(ids_of({1, 2}, {1, 2}), context);
      },
      {"rope (in layers.0.attn.rope): position 8"});
  context = {};
  context.mask = Tensor::ones({3, 3}, DType::boolean);
  expect_error(
      [&] {
        model(ids_of({1, 2}, {1, 2}), context);
      },
      {"scaled_dot_product_attention (in layers.0.attn): ", "[3, 3]"});

  model.layers[1].attn.q_proj.weight = Tensor::zeros({8, 7});
  expect_error(
      [&] {
        model(ids_of({1, 2}, {1, 2}));
      },
      {"linear (in layers.1.attn.q_proj): ", "[1, 2, 8]", "[8, 7]"});
  expect_error(
      [&] {
        model.layers[0](Tensor::zeros({2, 8}));
      },
      {"attention (in layers.0.attn): x is [2, 8], must be [B, T, C]"});
  expect_error(
      [&] {
        model.layers[0](Tensor::zeros({1, 2, 7}));
      },
      {"rms_norm (in layers.0.ln1): ", "[1, 2, 7]", "[8]"});
  expect_error(
      [&] {
        model.lm_head(Tensor::zeros({1, 8}, DType::f64));
      },
      {"linear (in lm_head): ", "f64", "f32"});
}

TEST(NnErrors, LayersOnTheirOwnKeepTheSurroundingPath) {
  Generator generator(1);
  const Linear layer(3, 2, generator);
  expect_error([&] { layer(Tensor::zeros({4})); }, {"linear: "});
  const Scope scope(std::make_shared<const std::string>("outer.part"));
  expect_error([&] { layer(Tensor::zeros({4})); }, {"linear (in outer.part): "});
}

}  // namespace
}  // namespace tapir::nn
