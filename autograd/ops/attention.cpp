// Scaled dot-product attention. Saved: q, k, v, the output and one log-sum-exp per query; the
// probabilities are recomputed tile by tile in the backward kernel, so no T x S matrix exists.
#include <algorithm>
#include <cmath>

#include "autograd/ops.h"
#include "autograd/reference.h"

namespace tapir {
namespace {

constexpr std::string_view kOp = "scaled_dot_product_attention";

// As [B, H, T, D], and with unit stride in the last axis.
Tensor with_four_axes(const Tensor& x) {
  Tensor y = x;
  while (y.rank() < 4) y = unsqueeze(y, 0);
  return y.size(-1) <= 1 || y.strides()[3] == 1 ? y : contiguous(y);
}

Tensor rows_dense(const Tensor& x) {
  return x.size(-1) <= 1 || x.strides()[x.rank() - 1] == 1 ? x : contiguous(x);
}

void require_shapes(const Tensor& q, const Tensor& k, const Tensor& v) {
  require_floating(kOp, q);
  for (const Tensor& other : {k, v}) {
    require_same_dtype(kOp, q, other);
    require_same_device(kOp, q, other);
    require(other.rank() == q.rank() && q.rank() >= 2 && q.rank() <= 4, kOp,
            "q {}, k {} and v {} must have the same rank, 2 to 4", q.shape(), k.shape(), v.shape());
  }
  require(q.size(-1) == k.size(-1), kOp, "q {} and k {} differ in the head size", q.shape(),
          k.shape());
  require(k.size(-2) == v.size(-2), kOp, "k {} and v {} differ in length", k.shape(), v.shape());
  if (q.rank() == 4) {
    require(q.size(0) == k.size(0) && q.size(0) == v.size(0), kOp,
            "q {}, k {} and v {} differ in the batch axis", q.shape(), k.shape(), v.shape());
  }
  if (q.rank() >= 3) {
    require(k.size(-3) == v.size(-3) && k.size(-3) > 0 && q.size(-3) % k.size(-3) == 0, kOp,
            "{} query heads cannot share the key heads of k {} and v {}; q's heads must be a "
            "multiple of k's",
            q.size(-3), k.shape(), v.shape());
  }
}

Tensor expanded_mask(const Tensor& mask, const Tensor& q, const Tensor& k) {
  if (!mask.defined()) return mask;
  require(mask.dtype() == DType::boolean, kOp, "the mask must be bool (true = keep), got {}",
          mask.dtype());
  require_same_device(kOp, mask, q);
  const Shape full{q.size(0), q.size(1), q.size(2), k.size(2)};
  require(mask.rank() <= 4 && broadcast_shapes(kOp, mask.shape(), full) == full, kOp,
          "mask {} does not broadcast to {} [B, H, T, S]", mask.shape(), full);
  return expand(mask, full);
}

}  // namespace

Tensor scaled_dot_product_attention(const Tensor& q_in, const Tensor& k_in, const Tensor& v_in,
                                    const AttentionArguments& arguments) {
  require_shapes(q_in, k_in, v_in);
  if (reference::Composed::enabled()) {
    return reference::scaled_dot_product_attention(q_in, k_in, v_in, arguments);
  }
  const Tensor q = with_four_axes(q_in), k = with_four_axes(k_in), v = with_four_axes(v_in);
  const Tensor mask = expanded_mask(arguments.mask, q, k);
  const AttentionOptions options{
      arguments.scale.value_or(1.0 /
                               std::sqrt(static_cast<double>(std::max<int64_t>(q.size(3), 1)))),
      arguments.causal};
  Tensor out = Tensor::empty({q.size(0), q.size(1), q.size(2), v.size(3)}, q.dtype(), q.device());
  const Tensor lse =
      Tensor::empty({q.size(0), q.size(1), q.size(2)}, accum_dtype(q.dtype()), q.device());
  const auto mask_view = [mask] { return mask.defined() ? mask.view() : View(); };
  q.backend().attention(q.view(), k.view(), v.view(), mask_view(), options, out.view(), lse.view());
  const Tensor saved = detach(out);
  out = record(kOp, out, {q, k, v}, [=](const Tensor& grad) {
    Tensor dq = Tensor::empty_like(q), dk = Tensor::empty_like(k), dv = Tensor::empty_like(v);
    grad.backend().attention_backward(rows_dense(grad).view(), q.view(), k.view(), v.view(),
                                      mask_view(), saved.view(), lse.view(), options, dq.view(),
                                      dk.view(), dv.view());
    return std::vector{dq, dk, dv};
  });
  Shape shape = q_in.shape();
  shape[q_in.rank() - 1] = v_in.size(-1);
  return reshape(out, shape);
}

}  // namespace tapir
