#include "autograd/reference.h"

#include <cmath>
#include <limits>

namespace tapir::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The row maximum as a constant, with 0 where the whole row is -inf.
Tensor finite_maximum(const Tensor& x, int64_t axis) {
  const Tensor top = max(detach(x), axis, true);
  return masked_fill(top, eq(top, Tensor::scalar(-kInfinity, x.dtype(), x.device())), 0);
}

// Keys repeated so that every query head has its own.
Tensor repeat_heads(const Tensor& x, int64_t times) {
  if (times == 1) return x;
  const Tensor spread =
      expand(unsqueeze(x, 2), {x.size(0), x.size(1), times, x.size(2), x.size(3)});
  return reshape(spread, {x.size(0), x.size(1) * times, x.size(2), x.size(3)});
}

Tensor four_axes(Tensor x) {
  while (x.rank() < 4) x = unsqueeze(x, 0);
  return x;
}

// true where query t of T may see key s of S: s <= t + S - T.
Tensor causal_mask(int64_t queries, int64_t keys, Device device) {
  const Tensor t = unsqueeze(Tensor::arange(queries, DType::i32, device), 1);
  const Tensor last = t + Tensor::scalar(static_cast<double>(keys - queries), DType::i32, device);
  return le(unsqueeze(Tensor::arange(keys, DType::i32, device), 0), last);
}

}  // namespace

Tensor one_hot(const Tensor& ids, int64_t classes, DType dtype) {
  const Tensor all = Tensor::arange(classes, DType::i32, ids.device());
  return to(eq(unsqueeze(ids, -1), all), dtype);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Tensor y = matmul(x, transpose(weight));
  return bias.defined() ? y + bias : y;
}

// A row that is all -inf has exponentials that sum to 0; dividing them by 1 keeps them 0.
Tensor softmax(const Tensor& x, int64_t axis) {
  const Tensor e = exp(x - finite_maximum(x, axis));
  const Tensor total = sum(e, {axis}, true);
  return e / masked_fill(total, eq(total, Tensor::zeros_like(total)), 1);
}

Tensor log_softmax(const Tensor& x, int64_t axis) {
  return x - reference::logsumexp(x, axis, true);
}

Tensor logsumexp(const Tensor& x, int64_t axis, bool keepdim) {
  const Tensor top = finite_maximum(x, axis);
  const Tensor result = log(sum(exp(x - top), {axis}, true)) + top;
  return keepdim ? result : squeeze(result, axis);
}

// A product with the lower triangle of ones.
Tensor cumsum(const Tensor& x, int64_t axis) {
  const int64_t size = x.size(axis);
  const Tensor ones = Tensor::ones({size, size}, x.dtype(), x.device());
  const Tensor rows = transpose(x, axis, -1);
  return transpose(matmul(rows, transpose(tril(ones))), axis, -1);
}

Tensor embedding(const Tensor& weight, const Tensor& ids) {
  return matmul(one_hot(ids, weight.size(0), weight.dtype()), weight);
}

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  return gate * sigmoid(gate) * up;
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor centred = x - mean(x, {-1}, true);
  const Tensor y = centred * rsqrt(mean(square(centred), {-1}, true) + eps) * weight;
  return bias.defined() ? y + bias : y;
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return x * rsqrt(mean(square(x), {-1}, true) + eps) * weight;
}

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& positions,
            RopeLayout layout) {
  const bool interleaved = layout == RopeLayout::interleaved;
  const int64_t width = x.size(-1);
  const auto part = [&](int64_t which) {
    return interleaved ? slice(x, -1, which, width, 2)
                       : slice(x, -1, which * width / 2, (which + 1) * width / 2);
  };
  const Tensor first = part(0), second = part(1);
  Tensor c = reference::embedding(cos, positions), s = reference::embedding(sin, positions);
  if (positions.rank() == 2 && x.rank() == 4) {  // [B, T, D/2] -> [B, 1, T, D/2]
    c = unsqueeze(c, 1);
    s = unsqueeze(s, 1);
  }
  const Tensor turned_first = first * c - second * s, turned_second = first * s + second * c;
  return interleaved ? reshape(stack({turned_first, turned_second}, -1), x.shape())
                     : cat({turned_first, turned_second}, -1);
}

Tensor scaled_dot_product_attention(const Tensor& q_in, const Tensor& k_in, const Tensor& v_in,
                                    const AttentionArguments& arguments) {
  const Tensor q = four_axes(q_in);
  const int64_t group = q.size(1) / four_axes(k_in).size(1);
  const Tensor k = repeat_heads(four_axes(k_in), group), v = repeat_heads(four_axes(v_in), group);
  const double scale = arguments.scale.value_or(1 / std::sqrt(static_cast<double>(q.size(3))));
  Tensor scores = matmul(q, transpose(k)) * scale;
  if (arguments.causal) {
    const Tensor keep = causal_mask(q.size(2), k.size(2), q.device());
    scores = masked_fill(scores, logical_not(keep), -kInfinity);
  }
  if (arguments.mask.defined()) {
    scores = masked_fill(scores, logical_not(arguments.mask), -kInfinity);
  }
  const Tensor out = matmul(reference::softmax(scores, -1), v);
  Shape shape = q_in.shape();
  shape[q_in.rank() - 1] = v_in.size(-1);
  return reshape(out, shape);
}

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, Reduction reduction,
                     int64_t ignore_index) {
  const Tensor ignored =
      eq(targets, Tensor::scalar(static_cast<double>(ignore_index), DType::i32, targets.device()));
  const Tensor hot = reference::one_hot(targets, logits.size(-1), logits.dtype());
  const Tensor log_p = sum(reference::log_softmax(logits, -1) * hot, {-1});
  const Tensor losses = masked_fill(-log_p, ignored, 0);
  if (reduction == Reduction::none) return losses;
  if (reduction == Reduction::sum) return sum(losses);
  return sum(losses) / sum(to(logical_not(ignored), logits.dtype()));
}

}  // namespace tapir::reference
