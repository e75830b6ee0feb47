// The pass of a model for one more token of each row, which is what writing text consists of.
#pragma once

#include <span>
#include <vector>

#include "backends/compressed_matrix.h"
#include "nn/transformer.h"

namespace tapir::nn {

// Runs the kernels of TransformerLM's pass one after the other on buffers of its own: a token of a
// small model takes less time than making a tensor for each of its operations. Products that share
// an input are one task for the threads. The numbers are the same as those of the pass, bit for
// bit.
class TokenStep {
 public:
  // Whether there is such a pass for the model and nobody asked for other operations: Llama's
  // layers without biases, in f32 or compressed, on the CPU.
  static bool supports(const TransformerLM& model);

  // `model` must outlive this, and keep its weights.
  TokenStep(const TransformerLM& model, int64_t batch);

  // Appends to `cache` and returns the logits f32 [B, V], which the next call overwrites. ids and
  // positions [B], which must be in their ranges; mask bool [B, 1, 1, S] with S = positions in the
  // cache + 1, or undefined.
  const Tensor& logits(std::span<const int32_t> ids, std::span<const int32_t> positions,
                       const Tensor& mask, KvCache& cache);

 private:
  // What a pass of one token computes, [B, width of it].
  struct Buffers {
    Tensor x, normed, q, k, v, q_rotated, k_rotated, attended, lse, rstd, sum, gate, up, inner,
        logits;
  };

  void attention(const CausalSelfAttention& layer, size_t index, ConstView positions,
                 const Tensor& mask, KvCache& cache);
  void feed_forward(const SwiGLU& layer);
  void norm(const Norm& layer);
  void add_to_x();

  const TransformerLM& model_;
  int64_t batch_;
  Buffers b_;
};

}  // namespace tapir::nn
