// Multi-head causal self-attention. Source: Vaswani et al. 2017; grouped key and value heads:
// Ainslie et al. 2023.
#pragma once

#include <optional>

#include "nn/forward_context.h"
#include "nn/linear.h"
#include "nn/module.h"
#include "nn/rotary.h"

namespace tapir::nn {

struct AttentionConfig {
  int64_t d_model = 0;
  int64_t n_heads = 0;
  std::optional<int64_t> n_kv_heads;  // default: n_heads
  Bias qkv_bias = Bias::no;
  Bias output_bias = Bias::no;
  std::optional<double> rope_theta;  // absent: no position embedding (NoPE)
  RopeLayout rope_layout = RopeLayout::interleaved;
  RopeScaling rope_scaling;
  int64_t max_seq_len = 0;  // of the rotary tables; not used without rope_theta
};

// q, k, v projections, split into heads, RoPE on q and k, causal attention, heads merged, output
// projection: x [B, T, C] -> [B, T, C]. Parameters: q_proj, output_proj weight [C, C]; k_proj,
// v_proj weight [Hkv D, C]; with qkv_bias also q_proj, k_proj, v_proj bias, and with output_bias
// output_proj bias.
class CausalSelfAttention : public Module {
 public:
  // d_model not divisible by n_heads, or n_heads by n_kv_heads, is an Error.
  CausalSelfAttention(const AttentionConfig& config, Generator& generator, DType dtype = DType::f32,
                      Device device = kCpu);

  Tensor operator()(const Tensor& x, const ForwardContext& context = {}) const;
  void visit(Visitor& visitor) override;

  Linear q_proj, k_proj, v_proj, output_proj;
  std::optional<RotaryEmbedding> rope;

 private:
  CausalSelfAttention(const AttentionConfig& config, int64_t kv_width, Generator& generator,
                      DType dtype, Device device);

  int64_t n_heads_;
  int64_t n_kv_heads_;
};

}  // namespace tapir::nn
