// Small Transformers that cover the options, for tests.
#pragma once

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "nn/transformer.h"

namespace tapir::testing {

inline nn::TransformerConfig tiny_config() {
  nn::TransformerConfig config;
  config.vocab_size = 13;
  config.max_seq_len = 8;
  config.d_model = 8;
  config.n_layers = 2;
  config.n_heads = 2;
  config.d_ff = 12;
  return config;
}

struct NamedConfig {
  std::string name;
  nn::TransformerConfig config;
};

inline std::string config_name(const ::testing::TestParamInfo<NamedConfig>& info) {
  return info.param.name;
}

// One config per option, each of which differs from the default in that option.
inline std::vector<NamedConfig> option_configs() {
  std::vector<NamedConfig> configs;
  const auto add = [&](const std::string& name, auto change) {
    nn::TransformerConfig config = tiny_config();
    change(config);
    configs.push_back({name, config});
  };
  using nn::TransformerConfig;
  add("default", [](TransformerConfig&) {});
  add("layer_norm", [](TransformerConfig& c) { c.norm = nn::NormKind::layer; });
  add("layer_norm_without_bias", [](TransformerConfig& c) {
    c.norm = nn::NormKind::layer;
    c.norm_bias = nn::Bias::no;
  });
  add("no_norm", [](TransformerConfig& c) { c.norm = nn::NormKind::none; });
  add("norm_eps", [](TransformerConfig& c) { c.norm_eps = 0.3; });
  add("post_norm", [](TransformerConfig& c) { c.norm_position = nn::NormPosition::post; });
  add("post_layer_norm", [](TransformerConfig& c) {
    c.norm = nn::NormKind::layer;
    c.norm_position = nn::NormPosition::post;
  });
  for (const auto kind : {nn::FeedForwardKind::silu, nn::FeedForwardKind::relu,
                          nn::FeedForwardKind::gelu, nn::FeedForwardKind::gelu_tanh}) {
    add(std::string(nn::name_of(kind)), [&](TransformerConfig& c) { c.ffn = kind; });
  }
  add("nope", [](TransformerConfig& c) { c.rope_theta.reset(); });
  add("theta", [](TransformerConfig& c) { c.rope_theta = 50.0; });
  add("half_split", [](TransformerConfig& c) { c.rope_layout = RopeLayout::half_split; });
  add("grouped", [](TransformerConfig& c) { c.n_kv_heads = 1; });
  add("qkv_bias", [](TransformerConfig& c) { c.qkv_bias = nn::Bias::yes; });
  add("tied", [](TransformerConfig& c) { c.tie_embeddings = true; });
  return configs;
}

// Fills every parameter with random values, also those that start as zeros or ones.
inline void randomize(nn::Module& module, Generator& generator) {
  for (const NamedTensor& p : module.named_parameters()) {
    const bool gain = p.tensor.rank() == 1 && p.name.ends_with("weight");
    const Tensor noise = randn(p.tensor.shape(), generator, p.tensor.dtype()) * 0.3;
    Tensor(p.tensor).copy_(gain ? noise + 1.0 : noise);
  }
}

inline Tensor random_ids(const Shape& shape, int64_t vocab_size, Generator& generator) {
  std::vector<int32_t> ids;
  for (int64_t i = 0; i < numel(shape); ++i) {
    ids.push_back(static_cast<int32_t>(generator.below(static_cast<uint64_t>(vocab_size))));
  }
  return Tensor::from(std::span<const int32_t>(ids), shape);
}

}  // namespace tapir::testing
