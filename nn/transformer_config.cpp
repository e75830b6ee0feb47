#include "nn/transformer_config.h"

#include <cmath>

namespace tapir::nn {
namespace {

constexpr std::string_view kOp = "transformer_config";

// Far above any real model, and low enough for the number of parameters to fit 64 bits.
constexpr int64_t kMaxSize = int64_t{1} << 22;
constexpr int64_t kMaxLayers = int64_t{1} << 12;

void require_size(std::string_view field, int64_t value, int64_t largest = kMaxSize) {
  require(value >= 1 && value <= largest, kOp, "{} is {}, must be in [1, {}]", field, value,
          largest);
}

}  // namespace

void TransformerConfig::validate() const {
  require_size("vocab_size", vocab_size);
  require_size("max_seq_len", max_seq_len);
  require_size("d_model", d_model);
  require_size("n_layers", n_layers, kMaxLayers);
  require_size("n_heads", n_heads);
  require_size("n_kv_heads", kv_heads());
  require_size("d_ff", feed_forward_width());
  require(d_model % n_heads == 0, kOp, "d_model {} is not divisible by n_heads {}", d_model,
          n_heads);
  require(n_heads % kv_heads() == 0, kOp, "n_heads {} is not a multiple of n_kv_heads {}", n_heads,
          kv_heads());
  require(std::isfinite(norm_eps) && norm_eps > 0, kOp,
          "norm_eps is {}, must be positive and finite", norm_eps);
  if (rope_theta) {
    require(std::isfinite(*rope_theta) && *rope_theta > 0, kOp,
            "rope_theta is {}, must be positive and finite, or absent for no position embedding",
            *rope_theta);
    rope_scaling.validate();
    require(head_dim() % 2 == 0, kOp,
            "rope rotates pairs, but the head dimension d_model / n_heads = {} / {} = {} is odd",
            d_model, n_heads, head_dim());
  }
  require(dropout >= 0 && dropout < 1, kOp, "dropout is {}, must be in [0, 1)", dropout);
}

int64_t TransformerConfig::parameter_count() const {
  const int64_t kv_width = head_dim() * kv_heads();
  const int64_t attention_biases = qkv_bias == Bias::yes ? d_model + 2 * kv_width : 0;
  const int64_t output_biases = output_bias == Bias::yes ? d_model : 0;
  const int64_t attention = 2 * d_model * (d_model + kv_width) + attention_biases + output_biases;
  const int64_t matrices = ffn == FeedForwardKind::swiglu ? 3 : 2;
  const int64_t feed_forward_biases =
      ffn_bias == Bias::yes ? d_model + (matrices - 1) * feed_forward_width() : 0;
  const int64_t feed_forward = matrices * d_model * feed_forward_width() + feed_forward_biases;
  int64_t norm_size = 0;
  if (norm == NormKind::rms) norm_size = d_model;
  if (norm == NormKind::layer) norm_size = norm_bias == Bias::yes ? 2 * d_model : d_model;
  const int64_t final_norm = norm_position == NormPosition::pre ? norm_size : 0;
  const int64_t embeddings = (tie_embeddings ? 1 : 2) * vocab_size * d_model;
  return embeddings + n_layers * (attention + feed_forward + 2 * norm_size) + final_norm;
}

}  // namespace tapir::nn
