#include "nn/norm.h"

#include <cmath>

#include "autograd/ops.h"
#include "nn/init.h"

namespace tapir::nn {
namespace {

void check(std::string_view op, int64_t width, double eps) {
  require(width > 0, op, "width is {}, must be positive", width);
  require(std::isfinite(eps) && eps > 0, op, "eps is {}, must be positive and finite", eps);
}

}  // namespace

RMSNorm::RMSNorm(int64_t width, double eps, DType dtype, Device device) : eps_(eps) {
  check("rms_norm", width, eps);
  weight = parameter(Tensor::ones({width}, dtype, device));
}

Tensor RMSNorm::operator()(const Tensor& x) const {
  const Scope scope = enter();
  return rms_norm(x, weight, eps_);
}

void RMSNorm::visit(Visitor& visitor) {
  visitor.parameter("weight", weight);
}

LayerNorm::LayerNorm(int64_t width, Bias with_bias, double eps, DType dtype, Device device)
    : eps_(eps) {
  check("layer_norm", width, eps);
  weight = parameter(Tensor::ones({width}, dtype, device));
  if (with_bias == Bias::yes) bias = parameter(Tensor::zeros({width}, dtype, device));
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  const Scope scope = enter();
  return layer_norm(x, weight, bias, eps_);
}

void LayerNorm::visit(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
}

Norm make_norm(const NormConfig& config, DType dtype, Device device) {
  switch (config.kind) {
    case NormKind::rms:
      return RMSNorm(config.width, config.eps, dtype, device);
    case NormKind::layer:
      return LayerNorm(config.width, config.bias, config.eps, dtype, device);
    case NormKind::none:
      break;
  }
  return Identity();
}

}  // namespace tapir::nn
