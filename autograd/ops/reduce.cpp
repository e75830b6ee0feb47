// Reductions, scans and sorts.
#include <limits>

#include "autograd/ops.h"
#include "autograd/reference.h"

namespace tapir {
namespace {

// The shape with reduced axes of size 1.
Shape kept_shape(std::string_view op, const Tensor& x, const std::vector<int64_t>& axes) {
  Shape kept = x.shape();
  if (axes.empty()) {
    for (int axis = 0; axis < kept.rank(); ++axis) kept[axis] = 1;
  }
  for (int64_t axis : axes) kept[normalize_axis(op, axis, x.rank())] = 1;
  return kept;
}

// The shape without them.
Shape dropped_shape(std::string_view op, const Tensor& x, const std::vector<int64_t>& axes) {
  if (axes.empty()) return {};
  std::vector<bool> reduced(static_cast<size_t>(x.rank()));
  for (int64_t axis : axes) reduced[static_cast<size_t>(normalize_axis(op, axis, x.rank()))] = true;
  Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!reduced[static_cast<size_t>(axis)]) shape.push_back(x.shape()[axis]);
  }
  return shape;
}

// Kernels for scans and sorts work on the last axis of dense memory.
Tensor with_axis_last(std::string_view op, const Tensor& x, int64_t axis) {
  require(x.rank() >= 1, op, "needs at least one axis, got a scalar");
  return contiguous(transpose(x, normalize_axis(op, axis, x.rank()), -1));
}

int64_t reduced_count(const Tensor& x, const Shape& kept) {
  int64_t count = 1;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (kept[axis] == 1) count *= x.shape()[axis];
  }
  return count;
}

// fn(x) computed in the dtype of statistics and rounded once, so that 16-bit floats do not lose
// digits, or overflow, on the way.
template <typename Function>
Tensor in_statistics_dtype(const Tensor& x, Function fn) {
  return to(fn(to(x, accum_dtype(x.dtype()))), x.dtype());
}

Tensor softmax_of_rows(const Tensor& x, bool log) {
  Tensor out = Tensor::empty_like(x);
  x.backend().softmax(x.view(), log, out.view());
  const Tensor saved = detach(out);
  return record(log ? "log_softmax" : "softmax", out, {x}, [saved, log](const Tensor& grad) {
    Tensor dx = Tensor::empty_like(saved);
    grad.backend().softmax_backward(contiguous(grad).view(), saved.view(), log, dx.view());
    return std::vector{dx};
  });
}

Tensor softmax_along(std::string_view op, const Tensor& x, int64_t axis, bool log) {
  require_floating(op, x);
  if (reference::Composed::enabled() && x.rank() > 0) {
    return log ? reference::log_softmax(x, axis) : reference::softmax(x, axis);
  }
  if (x.rank() == 0) return reshape(softmax_of_rows(reshape(x, {1}), log), {});
  const int at = normalize_axis(op, axis, x.rank());
  return transpose(softmax_of_rows(with_axis_last(op, x, at), log), at, -1);
}

}  // namespace

Tensor sum(const Tensor& x, const std::vector<int64_t>& axes, bool keepdim) {
  require(x.dtype() != DType::boolean, "sum", "needs numbers, got bool; convert with to()");
  const Shape kept = kept_shape("sum", x, axes);
  Tensor out = Tensor::empty(kept, x.dtype(), x.device());
  x.backend().reduce(ReduceOp::sum, x.view(), out.view());
  const Shape original = x.shape();
  const Tensor result = keepdim ? out : reshape(out, dropped_shape("sum", x, axes));
  return record("sum", result, {x}, [kept, original](const Tensor& grad) {
    return std::vector{expand(reshape(grad, kept), original)};
  });
}

Tensor mean(const Tensor& x, const std::vector<int64_t>& axes, bool keepdim) {
  require_floating("mean", x);
  const int64_t count = reduced_count(x, kept_shape("mean", x, axes));
  require(count > 0, "mean", "of no elements, shape {}", x.shape());
  return in_statistics_dtype(x, [&](const Tensor& wide) {
    return sum(wide, axes, keepdim) * (1.0 / static_cast<double>(count));
  });
}

Tensor var(const Tensor& x, const std::vector<int64_t>& axes, bool unbiased, bool keepdim) {
  require_floating("var", x);
  const int64_t count = reduced_count(x, kept_shape("var", x, axes)) - (unbiased ? 1 : 0);
  require(count > 0, "var", "shape {} has too few elements to reduce{}", x.shape(),
          unbiased ? "; pass unbiased = false for one" : "");
  return in_statistics_dtype(x, [&](const Tensor& wide) {
    const Tensor deviation = wide - mean(wide, axes, true);
    return sum(square(deviation), axes, keepdim) * (1.0 / static_cast<double>(count));
  });
}

Tensor max(const Tensor& x, int64_t axis, bool keepdim) {
  require_floating("max", x);
  const int at = normalize_axis("max", axis, x.rank());
  require(x.shape()[at] > 0, "max", "of no elements along axis {} of {}", at, x.shape());
  const Shape kept = kept_shape("max", x, {at});
  Tensor out = Tensor::empty(kept, x.dtype(), x.device());
  x.backend().reduce(ReduceOp::max, x.view(), out.view());
  const Tensor value = detach(out);
  const Tensor result = keepdim ? out : reshape(out, dropped_shape("max", x, {at}));
  return record("max", result, {x}, [x, value, kept, at](const Tensor& grad) {
    const Tensor hit = to(eq(x, value), grad.dtype());
    return std::vector{reshape(grad, kept) / sum(hit, {at}, true) * hit};
  });
}

Tensor argmax(const Tensor& x, int64_t axis, bool keepdim) {
  require_floating("argmax", x);
  NoGrad pause;
  const int at = normalize_axis("argmax", axis, x.rank());
  require(x.shape()[at] > 0, "argmax", "of no elements along axis {} of {}", at, x.shape());
  const Tensor rows = with_axis_last("argmax", x, at);
  Shape shape = rows.shape();
  shape[rows.rank() - 1] = 1;
  Tensor index = Tensor::empty(shape, DType::i32, x.device());
  x.backend().argmax(rows.view(), index.view());
  const Tensor result = transpose(index, at, -1);
  return keepdim ? result : squeeze(result, at);
}

// log sum exp(x) = m + log sum exp(x - m) with m the maximum; its gradient is the softmax.
Tensor logsumexp(const Tensor& x, int64_t axis, bool keepdim) {
  require_floating("logsumexp", x);
  const int at = normalize_axis("logsumexp", axis, x.rank());
  require(x.shape()[at] > 0, "logsumexp", "of no elements along axis {} of {}", at, x.shape());
  if (reference::Composed::enabled()) return reference::logsumexp(x, axis, keepdim);
  Tensor out;
  {
    NoGrad pause;
    out = in_statistics_dtype(x, [at](const Tensor& wide) {
      const Tensor top = max(wide, at, true);
      // An infinite maximum must not be subtracted from itself.
      const Tensor infinite = eq(abs(top), Tensor::scalar(std::numeric_limits<double>::infinity(),
                                                          wide.dtype(), wide.device()));
      const Tensor shift = masked_fill(top, infinite, 0);
      return log(sum(exp(wide - shift), {at}, true)) + shift;
    });
    if (!keepdim) out = squeeze(out, at);
  }
  return record("logsumexp", out, {x}, [x, at, keepdim](const Tensor& grad) {
    return std::vector{(keepdim ? grad : unsqueeze(grad, at)) * softmax(x, at)};
  });
}

Tensor cumsum(const Tensor& x, int64_t axis) {
  require_floating("cumsum", x);
  const int at = normalize_axis("cumsum", axis, x.rank());
  if (reference::Composed::enabled()) return reference::cumsum(x, axis);
  const Tensor rows = with_axis_last("cumsum", x, at);
  Tensor out = Tensor::empty_like(rows);
  rows.backend().cumsum(rows.view(), /*reverse=*/false, out.view());
  out = record("cumsum", out, {rows}, [](const Tensor& grad) {
    const Tensor dense = contiguous(grad);
    Tensor dx = Tensor::empty_like(dense);
    grad.backend().cumsum(dense.view(), /*reverse=*/true, dx.view());
    return std::vector{dx};
  });
  return transpose(out, at, -1);
}

std::pair<Tensor, Tensor> sort(const Tensor& x, int64_t axis, bool descending) {
  require_floating("sort", x);
  const int at = normalize_axis("sort", axis, x.rank());
  const Tensor rows = with_axis_last("sort", x, at);
  Tensor values = Tensor::empty_like(rows);
  Tensor index = Tensor::empty(rows.shape(), DType::i32, x.device());
  rows.backend().sort(rows.view(), descending, values.view(), index.view());
  values = record("sort", values, {rows}, [index](const Tensor& grad) {
    return std::vector{scatter_add(Tensor::zeros_like(grad), -1, index, grad)};
  });
  return {transpose(values, at, -1), transpose(index, at, -1)};
}

std::pair<Tensor, Tensor> topk(const Tensor& x, int64_t k, int64_t axis) {
  const int at = normalize_axis("topk", axis, x.rank());
  require(k >= 0 && k <= x.shape()[at], "topk", "k = {} but axis {} of {} has {} elements", k, at,
          x.shape(), x.shape()[at]);
  const auto sorted = sort(x, at, /*descending=*/true);
  return {slice(sorted.first, at, 0, k), slice(sorted.second, at, 0, k)};
}

Tensor softmax(const Tensor& x, int64_t axis) {
  return softmax_along("softmax", x, axis, false);
}
Tensor log_softmax(const Tensor& x, int64_t axis) {
  return softmax_along("log_softmax", x, axis, true);
}

}  // namespace tapir
