// Rotary position embedding (RoPE). Source: Su et al. 2021, "RoFormer".
#pragma once

#include "autograd/ops.h"
#include "nn/module.h"
#include "nn/rope_scaling.h"

namespace tapir::nn {

// Rotates pair i of D/2 by the angle position * theta^(-2i/D), whose frequency `scaling` may lower.
// Layout `interleaved` pairs
// (x[2i], x[2i+1]); `half_split` pairs (x[i], x[i + D/2]), as Hugging Face's Llama does.
// Buffers: cos, sin [max_seq_len, D/2], computed in f64 and kept in f32 (f64 for f64 models);
// layers with equal tables share them.
class RotaryEmbedding : public Module {
 public:
  // D odd, or theta or max_seq_len not positive: an Error.
  RotaryEmbedding(int64_t head_dim, int64_t max_seq_len, double theta = 10000.0,
                  RopeLayout layout = RopeLayout::interleaved, DType dtype = DType::f32,
                  Device device = kCpu, const RopeScaling& scaling = {});

  // x [..., T, D]; positions i32 [T] or [B, T], by default 0, ..., T - 1. A position outside
  // [0, max_seq_len) is an Error.
  Tensor operator()(const Tensor& x, const Tensor& positions = Tensor()) const;
  void visit(Visitor& visitor) override;
  void make_buffers(DType dtype, Device device) override;

  Tensor cos;
  Tensor sin;

 private:
  int64_t head_dim_;
  int64_t max_seq_len_;
  double theta_;
  RopeLayout layout_;
  RopeScaling scaling_;
};

}  // namespace tapir::nn
