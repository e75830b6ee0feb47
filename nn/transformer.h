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
#include "nn/transformer_config.h"

namespace tapir::nn {

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

  // An empty cache for `batch` rows of up to `capacity` positions, by default max_seq_len.
  KvCache make_cache(int64_t batch, std::optional<int64_t> capacity = std::nullopt) const;

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
