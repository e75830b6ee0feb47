#include "nn/transformer.h"

#include <cmath>

#include "autograd/ops.h"

namespace tapir::nn {
namespace {

AttentionConfig attention_config(const TransformerConfig& config) {
  AttentionConfig attention;
  attention.d_model = config.d_model;
  attention.n_heads = config.n_heads;
  attention.n_kv_heads = config.n_kv_heads;
  attention.qkv_bias = config.qkv_bias;
  attention.output_bias = config.output_bias;
  attention.rope_theta = config.rope_theta;
  attention.rope_layout = config.rope_layout;
  attention.rope_scaling = config.rope_scaling;
  attention.max_seq_len = config.max_seq_len;
  return attention;
}

NormConfig norm_config(const TransformerConfig& config) {
  return {config.norm, config.d_model, config.norm_eps, config.norm_bias};
}

// Post-norm blocks end in a norm, so nothing is left for a final one to do.
NormConfig final_norm_config(const TransformerConfig& config) {
  NormConfig norm = norm_config(config);
  if (config.norm_position == NormPosition::post) norm.kind = NormKind::none;
  return norm;
}

// A tied matrix is also the LM head, whose logits then start near unit variance.
double embedding_std(const TransformerConfig& config) {
  return config.tie_embeddings ? 1.0 / std::sqrt(static_cast<double>(config.d_model)) : 1.0;
}

TransformerConfig validated(const TransformerConfig& config) {
  config.validate();
  return config;
}

}  // namespace

TransformerBlock::TransformerBlock(const TransformerConfig& config, Generator& generator,
                                   DType dtype, Device device)
    : ln1(make_norm(norm_config(config), dtype, device)),
      attn(attention_config(config), generator, dtype, device),
      ln2(make_norm(norm_config(config), dtype, device)),
      ffn(make_feed_forward(config.ffn, config.d_model, config.feed_forward_width(), generator,
                            dtype, device, config.ffn_bias)),
      norm_position_(config.norm_position),
      dropout_(config.dropout) {}

template <typename Sublayer>
Tensor TransformerBlock::residual(const Tensor& x, const Norm& norm, const ForwardContext& context,
                                  Sublayer&& sublayer) const {
  if (norm_position_ == NormPosition::pre) {
    return x + dropout_(sublayer(forward(norm, x)), context.dropout);
  }
  return forward(norm, x + dropout_(sublayer(x), context.dropout));
}

Tensor TransformerBlock::operator()(const Tensor& x, const ForwardContext& context) const {
  const Scope scope = enter();
  const Tensor y =
      residual(x, ln1, context, [&](const Tensor& input) { return attn(input, context); });
  return residual(y, ln2, context, [&](const Tensor& input) { return forward(ffn, input); });
}

void TransformerBlock::visit(Visitor& visitor) {
  visitor.child("ln1", ln1);
  visitor.child("attn", attn);
  visitor.child("ln2", ln2);
  visitor.child("ffn", ffn);
}

TransformerLM::TransformerLM(const TransformerConfig& config, Generator& generator, DType dtype,
                             Device device)
    : config_(validated(config)),
      token_embeddings(config.vocab_size, config.d_model, generator, embedding_std(config), dtype,
                       device),
      ln_final(make_norm(final_norm_config(config), dtype, device)),
      lm_head(config.tie_embeddings
                  ? Linear(token_embeddings.weight)
                  : Linear(config.d_model, config.vocab_size, generator, Bias::no, dtype, device)),
      dropout_(config.dropout) {
  for (int64_t i = 0; i < config.n_layers; ++i)
    layers.emplace_back(config, generator, dtype, device);
  name_layers();
}

Tensor TransformerLM::hidden(const Tensor& ids, const ForwardContext& context) const {
  const Scope scope = enter();
  require(ids.rank() == 2, "transformer", "ids are {}, must be [B, T]", ids.shape());
  const int64_t length = ids.size(1), start = context.cache ? context.cache->length() : 0;
  require(start + length <= config_.max_seq_len, "transformer",
          "{} positions exceed max_seq_len {}; keep the last {} ids", start + length,
          config_.max_seq_len, config_.max_seq_len);
  ForwardContext inner = context;
  if (!inner.positions.defined()) {
    inner.positions = default_positions(context, length, ids.device());
  }
  Tensor x = dropout_(token_embeddings(ids), context.dropout);
  for (const TransformerBlock& layer : layers) {
    if (context.checkpoint) {
      const auto run = [&layer, inner](const std::vector<Tensor>& inputs) {
        return layer(inputs[0], inner);
      };
      x = checkpoint(run, {x}, context.dropout);
    } else {
      x = layer(x, inner);
    }
    ++inner.layer;
  }
  if (context.cache) context.cache->advance(length);
  return forward(ln_final, x);
}

Tensor TransformerLM::operator()(const Tensor& ids, const ForwardContext& context) const {
  return logits(hidden(ids, context));
}

KvCache TransformerLM::make_cache(int64_t batch, std::optional<int64_t> capacity) const {
  KvCacheConfig cache;
  cache.layers = config_.n_layers;
  cache.batch = batch;
  cache.kv_heads = config_.kv_heads();
  cache.capacity = capacity.value_or(config_.max_seq_len);
  cache.head_dim = config_.head_dim();
  return KvCache(cache, token_embeddings.weight.dtype(), token_embeddings.weight.device());
}

void TransformerLM::visit(Visitor& visitor) {
  visitor.child("token_embeddings", token_embeddings);
  visitor.children("layers", layers);
  visitor.child("ln_final", ln_final);
  visitor.child("lm_head", lm_head);
}

}  // namespace tapir::nn
