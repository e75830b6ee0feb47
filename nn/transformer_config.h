// The hyper-parameters of a Transformer.
#pragma once

#include <cstdint>
#include <optional>

#include "nn/feed_forward.h"
#include "nn/norm.h"
#include "nn/options.h"
#include "nn/rope_scaling.h"

namespace tapir::nn {

// Everything that determines a model's shape and function.
struct TransformerConfig {
  int64_t vocab_size = 256;
  int64_t max_seq_len = 256;
  int64_t d_model = 128;
  int64_t n_layers = 4;
  int64_t n_heads = 4;
  std::optional<int64_t> n_kv_heads;  // default: n_heads
  std::optional<int64_t> d_ff;        // default: default_d_ff(ffn, d_model)
  NormKind norm = NormKind::rms;
  NormPosition norm_position = NormPosition::pre;
  Bias norm_bias = Bias::yes;  // of LayerNorm
  double norm_eps = 1e-5;
  FeedForwardKind ffn = FeedForwardKind::swiglu;
  std::optional<double> rope_theta = 10000.0;  // absent: no position embedding (NoPE)
  RopeLayout rope_layout = RopeLayout::interleaved;
  RopeScaling rope_scaling;
  bool tie_embeddings = false;  // the LM head is the embedding matrix
  Bias qkv_bias = Bias::no;
  Bias output_bias = Bias::no;  // of the attention's output projection
  Bias ffn_bias = Bias::no;
  double dropout = 0.0;  // of the embeddings and of every sublayer's output

  int64_t head_dim() const { return d_model / n_heads; }
  int64_t kv_heads() const { return n_kv_heads.value_or(n_heads); }
  int64_t feed_forward_width() const { return d_ff.value_or(default_d_ff(ffn, d_model)); }

  // An Error that names the first field with an impossible value.
  void validate() const;
  // What a model of this config has, without building one.
  int64_t parameter_count() const;

  bool operator==(const TransformerConfig&) const = default;
};

}  // namespace tapir::nn
