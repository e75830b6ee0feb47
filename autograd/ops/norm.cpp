// Normalisations over the last axis. Saved: x and one or two statistics per row, not the
// normalised values, which the backward kernel recomputes.
#include "autograd/ops.h"
#include "autograd/reference.h"

namespace tapir {
namespace {

Tensor as_rows(std::string_view op, const Tensor& x) {
  require_floating(op, x);
  require(x.rank() >= 1 && x.size(-1) > 0, op, "needs a last axis to normalise, got {}", x.shape());
  return contiguous(reshape(x, {x.numel() / x.size(-1), x.size(-1)}));
}

void require_parameter(std::string_view op, std::string_view name, const Tensor& x,
                       const Tensor& parameter) {
  require(parameter.shape() == Shape{x.size(-1)}, op, "{} is {} but x is {}; it must be [{}]", name,
          parameter.shape(), x.shape(), x.size(-1));
  require_same_dtype(op, x, parameter);
  require_same_device(op, x, parameter);
}

Tensor statistics(const Tensor& rows) {
  return Tensor::empty({rows.size(0)}, accum_dtype(rows.dtype()), rows.device());
}

}  // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  const Tensor rows = as_rows("rms_norm", x);
  require_parameter("rms_norm", "weight", x, weight);
  if (reference::Composed::enabled()) return reference::rms_norm(x, weight, eps);
  const Tensor w = contiguous(weight), rstd = statistics(rows);
  Tensor out = Tensor::empty_like(rows);
  x.backend().rms_norm(rows.view(), w.view(), eps, out.view(), rstd.view());
  out = record("rms_norm", out, {rows, w}, [rows, w, rstd](const Tensor& grad) {
    Tensor dx = Tensor::empty_like(rows), dweight = Tensor::empty_like(w);
    grad.backend().rms_norm_backward(contiguous(grad).view(), rows.view(), w.view(), rstd.view(),
                                     dx.view(), dweight.view());
    return std::vector{dx, dweight};
  });
  return reshape(out, x.shape());
}

Tensor layer_norm(const Tensor& x, const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor rows = as_rows("layer_norm", x);
  require_parameter("layer_norm", "weight", x, weight);
  if (bias.defined()) require_parameter("layer_norm", "bias", x, bias);
  if (reference::Composed::enabled()) return reference::layer_norm(x, weight, bias, eps);
  const Tensor w = contiguous(weight), b = bias.defined() ? contiguous(bias) : Tensor();
  const Tensor mean = statistics(rows), rstd = statistics(rows);
  Tensor out = Tensor::empty_like(rows);
  x.backend().layer_norm(rows.view(), w.view(), b.defined() ? b.view() : View(), eps, out.view(),
                         mean.view(), rstd.view());
  const bool has_bias = b.defined();
  out = record("layer_norm", out, {rows, w, b}, [=](const Tensor& grad) {
    Tensor dx = Tensor::empty_like(rows), dweight = Tensor::empty_like(w);
    Tensor dbias = has_bias ? Tensor::empty_like(w) : Tensor();
    grad.backend().layer_norm_backward(contiguous(grad).view(), rows.view(), w.view(), mean.view(),
                                       rstd.view(), dx.view(), dweight.view(),
                                       has_bias ? dbias.view() : View());
    return std::vector{dx, dweight, dbias};
  });
  return reshape(out, x.shape());
}

}  // namespace tapir
