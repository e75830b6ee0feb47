#include "optim/clip.h"

#include <cmath>

#include "autograd/ops.h"

namespace tapir::optim {
namespace {

constexpr std::string_view kOp = "clip_grad_norm";

// The Error for a norm that is not finite, with the first parameter that causes it.
[[noreturn]] void fail_nonfinite(const std::vector<NamedTensor>& parameters, double norm) {
  for (const NamedTensor& parameter : parameters) {
    const Tensor grad = parameter.tensor.grad();
    if (!grad.defined()) continue;
    const int64_t bad = grad.backend().count_nonfinite(grad.view());
    if (bad == 0) continue;
    fail(kOp,
         "the gradient of {} has {} of {} values that are NaN or infinite; lower the learning "
         "rate, or find their source with DetectAnomaly",
         parameter.name, bad, grad.numel());
  }
  fail(kOp, "the gradients are so large that their norm is {}; scale the loss down", norm);
}

}  // namespace

double grad_norm(const std::vector<NamedTensor>& parameters) {
  std::vector<Tensor> grads;
  std::vector<ConstView> views;
  for (const NamedTensor& parameter : parameters) {
    if (!parameter.tensor.grad().defined()) continue;
    grads.push_back(contiguous(parameter.tensor.grad()));
    views.push_back(grads.back().view());
    require_same_device(kOp, grads.front(), grads.back());
  }
  if (grads.empty()) return 0.0;
  const double norm = std::sqrt(grads.front().backend().sum_of_squares(views));
  if (!std::isfinite(norm)) fail_nonfinite(parameters, norm);
  return norm;
}

double clip_grad_norm(const std::vector<NamedTensor>& parameters, double max_norm) {
  require(max_norm > 0, kOp, "max_norm is {}, must be positive", max_norm);
  NoGrad pause;
  const double norm = grad_norm(parameters);
  if (norm <= max_norm) return norm;
  const double scale = max_norm / (norm + 1e-6);
  for (const NamedTensor& parameter : parameters) {
    const Tensor grad = parameter.tensor.grad();
    if (grad.defined()) parameter.tensor.set_grad(mul(grad, scale));
  }
  return norm;
}

}  // namespace tapir::optim
