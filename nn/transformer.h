// The decoder-only Transformer language model. Source: Vaswani et al. 2017; pre-norm: Xiong et al.
// 2020; the defaults are Llama's (Touvron et al. 2023).
#pragma once

#include <optional>
#include <vector>

#include "nn/attention.h"
#include "nn/dropout.h"
#include "nn/embedding.h"
#include "nn/feed_forward.h"
#include "nn/kv_cache.h"
#include "nn/norm.h"

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
  bool tie_embeddings = false;  // the LM head is the embedding matrix
  Bias qkv_bias = Bias::no;
  double dropout = 0.0;  // of the embeddings and of every sublayer's output

  int64_t head_dim() const { return d_model / n_heads; }
  int64_t kv_heads() const { return n_kv_heads.value_or(n_heads); }
  int64_t feed_forward_width() const { return d_ff.value_or(default_d_ff(ffn, d_model)); }

  // An Error that names the first field with an impossible value.
  void validate() const;

  bool operator==(const TransformerConfig&) const = default;
};

// Attention sublayer, then feed-forward sublayer, each with a residual connection:
// x + sublayer(norm(x)) with pre-norm, norm(x + sublayer(x)) with post-norm.
// [B, T, C] -> [B, T, C]. Children: ln1, attn, ln2, ffn.
class TransformerBlock : public Module {
 public:
  TransformerBlock(const TransformerConfig& config, Generator& generator, DType dtype = DType::f32,
                   Device device = kCpu);

  Tensor operator()(const Tensor& x, const ForwardContext& context = {}) const;
  void visit(Visitor& visitor) override;

  Norm ln1;
  CausalSelfAttention attn;
  Norm ln2;
  AnyFeedForward ffn;

 private:
  template <typename Sublayer>
  Tensor residual(const Tensor& x, const Norm& norm, const ForwardContext& context,
                  Sublayer&& sublayer) const;

  NormPosition norm_position_;
  Dropout dropout_;
};

// Embedding, N blocks, final norm, LM head: ids i32 [B, T] -> logits [B, T, V]. Children:
// token_embeddings, layers.{i}, ln_final (pre-norm only), lm_head.
class TransformerLM : public Module {
 public:
  explicit TransformerLM(const TransformerConfig& config, Generator& generator,
                         DType dtype = DType::f32, Device device = kCpu);

  // T > max_seq_len, or an id outside [0, V), is an Error.
  Tensor operator()(const Tensor& ids, const ForwardContext& context = {}) const;

  // The two halves of it, for callers that need the logits of few positions:
  // ids [B, T] -> hidden [B, T, C], and hidden [..., C] -> logits [..., V].
  Tensor hidden(const Tensor& ids, const ForwardContext& context = {}) const;
  Tensor logits(const Tensor& hidden) const { return lm_head(hidden); }

  // An empty cache for `batch` rows of up to max_seq_len positions.
  KvCache make_cache(int64_t batch) const;

  void visit(Visitor& visitor) override;
  const TransformerConfig& config() const { return config_; }

 private:
  TransformerConfig config_;

 public:
  Embedding token_embeddings;
  std::vector<TransformerBlock> layers;
  Norm ln_final;
  Linear lm_head;  // its weight is token_embeddings.weight when tied

 private:
  Dropout dropout_;
};

}  // namespace tapir::nn
