#include "optim/clip.h"

#include <cmath>

#include "backends/backend.h"

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

void require_limit(double max_norm) {
  require(max_norm > 0, kOp, "max_norm is {}, must be positive", max_norm);
}

// The root of the squared norm, which must be finite.
double checked_norm(const std::vector<NamedTensor>& parameters, const Tensor& squared_norm) {
  const double norm = std::sqrt(squared_norm.item());
  if (!std::isfinite(norm)) fail_nonfinite(parameters, norm);
  return norm;
}

}  // namespace

Tensor squared_grad_norm(const std::vector<NamedTensor>& parameters) {
  require(!parameters.empty(), kOp, "there are no parameters");
  std::vector<ConstView> views;
  for (const NamedTensor& parameter : parameters) {
    require_same_device(kOp, parameters.front().tensor, parameter.tensor);
    const Tensor grad = parameter.tensor.grad();  // of a leaf, so it is dense
    if (grad.defined()) views.push_back(grad.view());
  }
  Tensor squared_norm = Tensor::empty({}, DType::f64, parameters.front().tensor.device());
  squared_norm.backend().sum_of_squares(views, squared_norm.view());
  return squared_norm;
}

void limit_grad_norm(const std::vector<NamedTensor>& parameters, const Tensor& squared_norm,
                     double max_norm) {
  require_limit(max_norm);
  std::vector<View> views;
  for (const NamedTensor& parameter : parameters) {
    const Tensor grad = parameter.tensor.grad();
    if (!grad.defined()) continue;
    grad.storage().bump_version();
    views.push_back(grad.view());
  }
  squared_norm.backend().limit_norm(views, squared_norm.view(), max_norm);
}

double grad_norm(const std::vector<NamedTensor>& parameters) {
  return parameters.empty() ? 0.0 : checked_norm(parameters, squared_grad_norm(parameters));
}

double clip_grad_norm(const std::vector<NamedTensor>& parameters, double max_norm) {
  require_limit(max_norm);
  if (parameters.empty()) return 0.0;
  const Tensor squared_norm = squared_grad_norm(parameters);
  const double norm = checked_norm(parameters, squared_norm);
  limit_grad_norm(parameters, squared_norm, max_norm);
  return norm;
}

}  // namespace tapir::optim
