// The complete list of what a device must do. Kernels take plain views: they know no Tensor and no
// gradient, never throw on what the views hold, and never copy silently. Checks happen in the
// operation that calls them (autograd/ops).
//
// Conventions. Outputs come last and are allocated by the caller, dense ("contiguous") unless said
// otherwise. Inputs are dense too, except where a method says *strided*: then any strides go,
// including 0. All views of a call have the same dtype unless said otherwise; floating methods
// take f64, f32, bf16 and f16 and keep sums and row statistics in f32 (f64 for f64) at least.
// "Statistics" are f32, or f64 for f64. `index` views are i32. Every result is the same, bit for
// bit, whatever the number of threads.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>

#include "backends/device.h"
#include "backends/scalar_ops.h"
#include "backends/storage.h"
#include "backends/view.h"

namespace tapir {

struct CompressedMatrix;  // compressed_matrix.h
struct WeightProduct;

enum class ReduceOp : uint8_t { sum, max };
enum class RandomKind : uint8_t { uniform, normal, truncated_normal };
enum class RopeLayout : uint8_t { interleaved, half_split };

struct AttentionOptions {
  double scale = 1.0;
  bool causal = false;  // query t of T sees key s of S when s <= t + (S - T)
};

// One parameter of an optimizer step. `master` holds the f32 truth of a bf16 or f16 parameter and
// has no data for the others.
struct AdamWTensor {
  View param;
  ConstView grad;
  View m, v, master;  // f32, or f64 for f64 parameters
  double lr = 0, weight_decay = 0;
};

struct AdamWConstants {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
  int64_t step = 1;      // counted from 1; the bias corrections are 1 - beta^step
  ConstView guard = {};  // f64 scalar: unless it is finite, nothing is changed; or no data
};

struct SgdTensor {
  View param;
  ConstView grad;
  View velocity, master;  // velocity has no data when momentum is 0
  double lr = 0, weight_decay = 0;
};

struct SgdConstants {
  double momentum = 0;
  bool nesterov = false;
  bool first_step = false;  // the velocity starts as the gradient itself
  ConstView guard = {};     // as AdamW's
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual Device device() const = 0;
  virtual std::string description() const = 0;  // processor or card, instruction set, libraries
  virtual Allocator& allocator() const = 0;
  virtual void synchronize() const = 0;
  virtual void copy_from_host(const void* host, void* device, size_t bytes) const = 0;
  virtual void copy_to_host(const void* device, void* host, size_t bytes) const = 0;
  // Calls `work` and runs what it asks for as one unit, where the device knows such: a GPU is then
  // told of hundreds of kernels at once. `work` must not exchange anything with the host, which is
  // an Error there; the units of two calls may differ.
  virtual void run_as_one(const std::function<void()>& work) const { work(); }

  // Elementwise. All strided, and outputs may be strided too.
  virtual void copy(ConstView x, View out) const = 0;  // converts between any two dtypes
  virtual void fill(double value, View out) const = 0;
  virtual void unary(UnaryOp op, ConstView x, double p, View out) const = 0;
  // dx = grad * derivative; `saved` is the input or output as `saves(op)` tells, else empty.
  virtual void unary_backward(UnaryOp op, ConstView grad, ConstView saved, double p,
                              View dx) const = 0;
  virtual void binary(BinaryOp op, ConstView a, ConstView b, View out) const = 0;    // i32 too
  virtual void compare(CompareOp op, ConstView a, ConstView b, View out) const = 0;  // out bool
  virtual void where(ConstView condition, ConstView a, ConstView b, View out) const = 0;
  // out = silu(gate) * up, and both gradients. Source: Shazeer 2020, "GLU variants".
  virtual void swiglu(ConstView gate, ConstView up, View out) const = 0;
  virtual void swiglu_backward(ConstView grad, ConstView gate, ConstView up, View dgate,
                               View dup) const = 0;

  // Reductions of the axes for which out's size is 1 and x's is not; equal ranks. x strided.
  virtual void reduce(ReduceOp op, ConstView x, View out) const = 0;
  // Along the last axis: position of the first largest element, a NaN counting as largest.
  virtual void argmax(ConstView x, View index) const = 0;
  virtual void cumsum(ConstView x, bool reverse, View out) const = 0;  // last axis
  // Stable sort of the last axis with the positions the elements had.
  virtual void sort(ConstView x, bool descending, View values, View index) const = 0;
  virtual int64_t count_nonfinite(ConstView x) const = 0;

  // Indexing along the last axis: out[..., j] = x[..., index[..., j]], and its transpose, which
  // adds in the order of j: out[..., index[..., j]] += source[..., j]. Any dtype for gather.
  virtual void gather(ConstView x, ConstView index, View out) const = 0;
  virtual void scatter_add(ConstView index, ConstView source, View out) const = 0;
  // Position in `index` of the first value outside [0, bound), or -1.
  virtual int64_t find_out_of_range(ConstView index, int64_t bound) const = 0;
  // out[i, :] = weight[ids[i], :], and its gradient, which sums equal ids in the order of i and
  // writes every row of dweight. weight [V, C], ids [N], out [N, C].
  virtual void embedding(ConstView weight, ConstView ids, View out) const = 0;
  virtual void embedding_backward(ConstView grad, ConstView ids, View dweight) const = 0;

  // out[b, m, n] = sum_k a[b, m, k] * b[b, k, n]. Equal ranks >= 2 and equal leading axes. Strided:
  // leading axes may have any strides, and of the last two one must have stride 1 (see
  // `is_matmul_operand`).
  virtual void matmul(ConstView a, ConstView b, View out) const = 0;

  // Weights of fewer bits. x, rows and out are dense f32; what is compressed must be finite.
  virtual void compress(ConstView x, const CompressedMatrix& out) const = 0;
  // out[i, :] = w[ids[i], :]; ids [N], out [N, columns].
  virtual void compressed_rows(const CompressedMatrix& w, ConstView ids, View out) const = 0;
  // out = x w^T: x [M, columns], out [M, rows]. For int8, the CPU rounds x to 16 bits for each
  // group when M is small.
  virtual void compressed_product(ConstView x, const CompressedMatrix& w, View out) const = 0;
  // The same for several matrices at once. With few rows of x that is one task for all threads.
  // Only of the CPU.
  virtual void compressed_products(ConstView x, std::span<const WeightProduct> products) const;

  // What tokens are drawn with: weights[i] = exp((logits[i] - largest logit) / temperature), within
  // 2 units in the last place, or 0 below 1e-306; and sums[j] of every kDrawBlock of them. logits
  // f32 or f64 [V], weights f64 [V], sums f64 [V / kDrawBlock, rounded up]; temperature > 0.
  // Returns false, and leaves the outputs as they are, if a logit is not finite. Only of the CPU.
  static constexpr int64_t kDrawBlock = 256;
  virtual bool draw_weights(ConstView logits, double temperature, View weights, View sums) const;

  // Row-wise over the last axis. A row that is all -inf gives zeros (log: -inf).
  virtual void softmax(ConstView x, bool log, View out) const = 0;
  virtual void softmax_backward(ConstView grad, ConstView out, bool log, View dx) const = 0;

  // losses[i] = -log softmax(logits[i, :])[targets[i]], 0 where targets[i] == ignore_index.
  // logits [N, V]; targets [N]; losses [N] statistics; lse [N] f64, the row's log-sum-exp, whose
  // rounding would otherwise enter every element of the gradient.
  virtual void cross_entropy(ConstView logits, ConstView targets, int64_t ignore_index, View losses,
                             View lse) const = 0;
  // dlogits[i, :] = grad[i] * (softmax(logits[i, :]) - onehot(targets[i])). grad [N] statistics.
  virtual void cross_entropy_backward(ConstView grad, ConstView logits, ConstView targets,
                                      int64_t ignore_index, ConstView lse, View dlogits) const = 0;

  // Norms over the last axis of x [N, C]; rstd and mean [N] statistics; `bias` and `dbias` may
  // have no data. Sources: Ba et al. 2016 (LayerNorm), Zhang and Sennrich 2019 (RMSNorm).
  virtual void layer_norm(ConstView x, ConstView weight, ConstView bias, double eps, View out,
                          View mean, View rstd) const = 0;
  virtual void layer_norm_backward(ConstView grad, ConstView x, ConstView weight, ConstView mean,
                                   ConstView rstd, View dx, View dweight, View dbias) const = 0;
  virtual void rms_norm(ConstView x, ConstView weight, double eps, View out, View rstd) const = 0;
  virtual void rms_norm_backward(ConstView grad, ConstView x, ConstView weight, ConstView rstd,
                                 View dx, View dweight) const = 0;

  // Rotates each pair of x [B, H, T, D] by the angle whose cosine and sine stand in row
  // positions[b, t] of cos and sin [max_seq_len, D/2] (statistics); `inverse` rotates back, which
  // is also the gradient. x strided. Source: Su et al. 2021.
  virtual void rope(ConstView x, ConstView cos, ConstView sin, ConstView positions,
                    RopeLayout layout, bool inverse, View out) const = 0;

  // softmax(scale * q k^T + mask) v without a T x S matrix. q [B, H, T, D]; k [B, Hkv, S, D];
  // v [B, Hkv, S, Dv] with H a multiple of Hkv; out [B, H, T, Dv]; lse [B, H, T] statistics.
  // mask: bool [B, H, T, S], true = keep, strided (0 to broadcast), or no data. q, k, v, grad and
  // out are strided with stride 1 in the last axis. Source: Dao et al. 2022.
  virtual void attention(ConstView q, ConstView k, ConstView v, ConstView mask,
                         const AttentionOptions& options, View out, View lse) const = 0;
  virtual void attention_backward(ConstView grad, ConstView q, ConstView k, ConstView v,
                                  ConstView mask, ConstView out, ConstView lse,
                                  const AttentionOptions& options, View dq, View dk,
                                  View dv) const = 0;

  // Random numbers: element i takes word i % 4 of block offset + i / 4 of the generator `seed`
  // (see random.h for the distributions), whatever the device.
  virtual void random(RandomKind kind, uint64_t seed, uint64_t offset, double bound,
                      View out) const = 0;
  // out = keep ? x / (1 - p) : 0 where keep has probability 1 - p; the same call with the
  // gradient as x is the backward pass.
  virtual void dropout(ConstView x, double p, uint64_t seed, uint64_t offset, View out) const = 0;

  // Optimizers: all parameters in one call. Sources: Loshchilov and Hutter 2019 (AdamW),
  // Sutskever et al. 2013 (momentum as PyTorch has it).
  virtual void adamw(std::span<const AdamWTensor> tensors, const AdamWConstants& c) const = 0;
  virtual void sgd(std::span<const SgdTensor> tensors, const SgdConstants& c) const = 0;
  // The sum of squares of every element of every tensor; out is an f64 scalar.
  virtual void sum_of_squares(std::span<const ConstView> tensors, View out) const = 0;
  // Multiplies every tensor in place by max_norm / (norm + 1e-6) where norm, the root of the f64
  // scalar `squares`, is finite and above max_norm. Source: Pascanu, Mikolov and Bengio 2013.
  virtual void limit_norm(std::span<const View> tensors, ConstView squares,
                          double max_norm) const = 0;
};

// Whether matmul can read a matrix of these strides without a copy.
inline bool is_matmul_operand(ConstView x) {
  const int64_t rows = x.size(-2), columns = x.size(-1);
  const bool by_rows =
      (x.stride(-1) == 1 || columns <= 1) && (x.stride(-2) >= columns || rows <= 1);
  const bool by_columns =
      (x.stride(-2) == 1 || rows <= 1) && (x.stride(-1) >= rows || columns <= 1);
  return by_rows || by_columns;
}

}  // namespace tapir
