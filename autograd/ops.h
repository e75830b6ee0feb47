// Every operation on tensors. Each either has a gradient, checked in f64 against finite
// differences, or says "no gradient". Operands must agree in dtype and device. Axes may be
// negative. Shape errors name the operation, the layer that called it and the shapes.
#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "autograd/generator.h"
#include "autograd/tape.h"
#include "autograd/tensor.h"

namespace tapir {

// Elementwise with broadcasting, of floating dtypes; + - * / of two tensors take i32 too.
Tensor add(const Tensor& a, const Tensor& b);
Tensor sub(const Tensor& a, const Tensor& b);
Tensor mul(const Tensor& a, const Tensor& b);
Tensor div(const Tensor& a, const Tensor& b);
Tensor pow(const Tensor& base, const Tensor& exponent);
Tensor maximum(const Tensor& a, const Tensor& b);  // equal elements share the gradient
Tensor minimum(const Tensor& a, const Tensor& b);
Tensor add(const Tensor& a, double b);
Tensor mul(const Tensor& a, double b);
Tensor pow(const Tensor& base, double exponent);
Tensor clamp_min(const Tensor& x, double low);

inline Tensor operator+(const Tensor& a, const Tensor& b) {
  return add(a, b);
}
inline Tensor operator-(const Tensor& a, const Tensor& b) {
  return sub(a, b);
}
inline Tensor operator*(const Tensor& a, const Tensor& b) {
  return mul(a, b);
}
inline Tensor operator/(const Tensor& a, const Tensor& b) {
  return div(a, b);
}
inline Tensor operator+(const Tensor& a, double b) {
  return add(a, b);
}
inline Tensor operator-(const Tensor& a, double b) {
  return add(a, -b);
}
inline Tensor operator*(const Tensor& a, double b) {
  return mul(a, b);
}
inline Tensor operator/(const Tensor& a, double b) {
  return mul(a, 1.0 / b);
}
inline Tensor operator+(double a, const Tensor& b) {
  return add(b, a);
}
inline Tensor operator*(double a, const Tensor& b) {
  return mul(b, a);
}
Tensor operator-(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);
Tensor operator-(const Tensor& x);

Tensor neg(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor log(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor square(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor relu(const Tensor& x);
Tensor silu(const Tensor& x);       // x sigmoid(x)
Tensor gelu(const Tensor& x);       // x Phi(x), exact
Tensor gelu_tanh(const Tensor& x);  // its tanh approximation

// Comparisons of any dtype, with broadcasting, give bool tensors. No gradient.
Tensor eq(const Tensor& a, const Tensor& b);
Tensor ne(const Tensor& a, const Tensor& b);
Tensor lt(const Tensor& a, const Tensor& b);
Tensor le(const Tensor& a, const Tensor& b);
Tensor gt(const Tensor& a, const Tensor& b);
Tensor ge(const Tensor& a, const Tensor& b);
Tensor logical_not(const Tensor& x);

// condition ? a : b, elementwise with broadcasting; condition is bool, a and b are of one dtype.
Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b);
Tensor masked_fill(const Tensor& x, const Tensor& mask, double value);  // mask as the condition

// Reductions of floating dtypes (sum: i32 too). `axes` empty means all. keepdim leaves size 1.
Tensor sum(const Tensor& x, const std::vector<int64_t>& axes = {}, bool keepdim = false);
Tensor mean(const Tensor& x, const std::vector<int64_t>& axes = {}, bool keepdim = false);
// Divides by n - 1 if `unbiased`, else by n.
Tensor var(const Tensor& x, const std::vector<int64_t>& axes = {}, bool unbiased = true,
           bool keepdim = false);
// The largest along one axis; equal ones share the gradient. Of no elements: an Error.
Tensor max(const Tensor& x, int64_t axis, bool keepdim = false);
Tensor argmax(const Tensor& x, int64_t axis, bool keepdim = false);  // i32, the first. No gradient.
Tensor logsumexp(const Tensor& x, int64_t axis, bool keepdim = false);
Tensor cumsum(const Tensor& x, int64_t axis);
// Stable; the second tensor holds positions (i32, no gradient).
std::pair<Tensor, Tensor> sort(const Tensor& x, int64_t axis = -1, bool descending = false);
std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t axis = -1);  // largest first
// A row that is all -inf gives zeros, with gradient zero.
Tensor softmax(const Tensor& x, int64_t axis = -1);
Tensor log_softmax(const Tensor& x, int64_t axis = -1);

// Shape. `reshape` makes a view where the strides allow and a copy otherwise; `view` refuses to
// copy. One size may be -1.
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor view(const Tensor& x, const Shape& shape);
Tensor transpose(const Tensor& x, int64_t axis_a = -2, int64_t axis_b = -1);
Tensor permute(const Tensor& x, const std::vector<int64_t>& axes);
Tensor expand(const Tensor& x, const Shape& shape);  // -1 keeps a size
Tensor sum_to(const Tensor& x, const Shape& shape);  // the transpose of expand
Tensor squeeze(const Tensor& x, int64_t axis);
Tensor unsqueeze(const Tensor& x, int64_t axis);
// x[..., start:stop:step, ...]; negative start and stop count from the end, step >= 1.
Tensor slice(const Tensor& x, int64_t axis, int64_t start, int64_t stop, int64_t step = 1);
Tensor select(const Tensor& x, int64_t axis, int64_t index);   // drops the axis
Tensor cat(const std::vector<Tensor>& parts, int64_t axis);    // shapes differ in that axis only
Tensor stack(const std::vector<Tensor>& parts, int64_t axis);  // equal shapes, along a new axis
std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t axis);  // the last may be smaller
Tensor split_heads(const Tensor& x, int64_t heads);  // [B, T, H D] -> [B, H, T, D]
Tensor merge_heads(const Tensor& x);                 // [B, H, T, D] -> [B, T, H D]
Tensor tril(const Tensor& x, int64_t diagonal = 0);  // [..., M, N], zero above the diagonal

Tensor clone(const Tensor& x);
Tensor contiguous(const Tensor& x);  // x itself when it already is
Tensor detach(const Tensor& x);      // shares storage, cut off from the tape
Tensor to(const Tensor& x, DType dtype);
Tensor to(const Tensor& x, Device device);

// Indexing; index is i32 and every value must be in range; its size replaces that of the axis.
Tensor index_select(const Tensor& x, int64_t axis, const Tensor& index);  // index [n]
Tensor gather(const Tensor& x, int64_t axis, const Tensor& index);  // shapes differ in axis only
// x with source, of index's shape, written (added) where gather would read. Repeated positions: an
// Error in scatter, summed in order in scatter_add.
Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);
Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source);

// Products. matmul: [..., M, K] x [..., K, N] with broadcast leading axes; a vector operand counts
// as a row (left) or a column (right) and that axis is dropped.
Tensor matmul(const Tensor& a, const Tensor& b);
Tensor outer(const Tensor& a, const Tensor& b);  // [m], [n] -> [m, n]
// Two operands, "bij,bjk->bik"; "..." stands for leading axes that broadcast. Every letter of an
// operand appears once in it; letters missing from the output are summed.
Tensor einsum(std::string_view equation, const Tensor& a, const Tensor& b);
// x W^T + b: x [..., in], weight [out, in], bias [out] or undefined -> [..., out].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = Tensor());

// Fused operations; reference.h has each of them written with the ones above.
Tensor embedding(const Tensor& weight, const Tensor& ids);  // [V, C], [...] -> [..., C]
Tensor swiglu(const Tensor& gate, const Tensor& up);        // silu(gate) * up, equal shapes
// Over the last axis C; weight [C]; bias [C] or undefined.
Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps = 1e-5);
Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps = 1e-5);
// x [..., T, D] with rank 2 to 4; cos, sin [max_seq_len, D/2] (f32, f64 for f64); positions i32 [T]
// or [B, T] with B = x's first axis; broadcast over the axes between.
Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& positions,
            RopeLayout layout);

struct AttentionArguments {
  Tensor mask;                  // bool, true = keep, broadcastable to [..., T, S]; may be undefined
  bool causal = false;          // aligned to the end: query t sees keys s <= t + S - T
  std::optional<double> scale;  // default 1 / sqrt(D)
};
// q [..., H, T, D], k [..., Hkv, S, D], v [..., Hkv, S, Dv] -> [..., H, T, Dv]; H a multiple of
// Hkv. Rank 2 to 4; leading axes must agree. A fully masked row gives zeros.
Tensor scaled_dot_product_attention(const Tensor& q, const Tensor& k, const Tensor& v,
                                    const AttentionArguments& arguments = {});

enum class Reduction { mean, sum, none };
// logits [..., V], targets i32 [...] (never broadcast). Tokens equal to ignore_index count for
// nothing, and the mean is over the others; a mean over none is an Error. The loss is f64 for f64
// logits and f32 for all others.
Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                     Reduction reduction = Reduction::mean, int64_t ignore_index = -100);

// Zeroes each element with probability p, in [0, 1], and scales the others by 1 / (1 - p).
Tensor dropout(const Tensor& x, double p, Generator& generator);

// Random tensors of a floating dtype. No gradient.
Tensor rand(const Shape& shape, Generator& generator, DType dtype = DType::f32,
            Device device = kCpu);  // uniform on [0, 1)
Tensor randn(const Shape& shape, Generator& generator, DType dtype = DType::f32,
             Device device = kCpu);
// Normal with that standard deviation, cut at +-bound standard deviations.
Tensor trunc_normal(const Shape& shape, double std, double bound, Generator& generator,
                    DType dtype = DType::f32, Device device = kCpu);
// `count` draws per row of probabilities [..., V] (need not sum to 1) -> i32 [..., count], with
// replacement.
Tensor multinomial(const Tensor& probabilities, int64_t count, Generator& generator);

// Runs fn(inputs) without recording its inside, and runs it again in the backward pass to get the
// gradients: memory for one pass more of compute. Parameters that fn captures get their gradients
// too. `generator`, if fn draws from one, is rewound for the second run.
using CheckpointedFunction = std::function<Tensor(const std::vector<Tensor>& inputs)>;
Tensor checkpoint(const CheckpointedFunction& fn, const std::vector<Tensor>& inputs,
                  Generator* generator = nullptr);

}  // namespace tapir
