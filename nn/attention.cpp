#include "nn/attention.h"

#include <tuple>

#include "autograd/ops.h"
#include "nn/kv_cache.h"

namespace tapir::nn {
namespace {

// The width of all key heads together, after checking that the heads divide.
int64_t checked_kv_width(const AttentionConfig& config) {
  const int64_t heads = config.n_heads, kv_heads = config.n_kv_heads.value_or(heads);
  require(config.d_model > 0 && heads > 0 && kv_heads > 0, "attention",
          "d_model, n_heads and n_kv_heads must be positive, got {}, {} and {}", config.d_model,
          heads, kv_heads);
  require(config.d_model % heads == 0, "attention", "d_model {} is not divisible by n_heads {}",
          config.d_model, heads);
  require(heads % kv_heads == 0, "attention", "n_heads {} is not a multiple of n_kv_heads {}",
          heads, kv_heads);
  return config.d_model / heads * kv_heads;
}

}  // namespace

CausalSelfAttention::CausalSelfAttention(const AttentionConfig& config, Generator& generator,
                                         DType dtype, Device device)
    : CausalSelfAttention(config, checked_kv_width(config), generator, dtype, device) {}

CausalSelfAttention::CausalSelfAttention(const AttentionConfig& config, int64_t kv_width,
                                         Generator& generator, DType dtype, Device device)
    : q_proj(config.d_model, config.d_model, generator, config.qkv_bias, dtype, device),
      k_proj(config.d_model, kv_width, generator, config.qkv_bias, dtype, device),
      v_proj(config.d_model, kv_width, generator, config.qkv_bias, dtype, device),
      output_proj(config.d_model, config.d_model, generator, config.output_bias, dtype, device),
      n_heads_(config.n_heads),
      n_kv_heads_(config.n_kv_heads.value_or(config.n_heads)) {
  if (config.rope_theta) {
    rope.emplace(config.d_model / config.n_heads, config.max_seq_len, *config.rope_theta,
                 config.rope_layout, dtype, device, config.rope_scaling);
  }
}

Tensor CausalSelfAttention::operator()(const Tensor& x, const ForwardContext& context) const {
  const Scope scope = enter();
  require(x.rank() == 3, "attention", "x is {}, must be [B, T, C]", x.shape());
  Tensor q = split_heads(q_proj(x), n_heads_);     // [B, H, T, D]
  Tensor k = split_heads(k_proj(x), n_kv_heads_);  // [B, Hkv, T, D]
  Tensor v = split_heads(v_proj(x), n_kv_heads_);
  if (rope) {
    const Tensor positions = context.positions.defined()
                                 ? context.positions
                                 : default_positions(context, x.size(1), x.device());
    q = (*rope)(q, positions);
    k = (*rope)(k, positions);
  }
  if (context.cache) std::tie(k, v) = context.cache->append(context.layer, k, v);
  AttentionArguments arguments;
  arguments.mask = context.mask;
  arguments.causal = true;
  return output_proj(merge_heads(scaled_dot_product_attention(q, k, v, arguments)));
}

void CausalSelfAttention::visit(Visitor& visitor) {
  visitor.child("q_proj", q_proj);
  visitor.child("k_proj", k_proj);
  visitor.child("v_proj", v_proj);
  visitor.child("output_proj", output_proj);
  visitor.child("rope", rope);
}

}  // namespace tapir::nn
