// Normalisation of the last axis, and the layer that stands where it is switched off.
#pragma once

#include <variant>

#include "nn/linear.h"
#include "nn/module.h"
#include "nn/options.h"

namespace tapir::nn {

// x / sqrt(mean(x^2) + eps) * weight. Parameter: weight [C]. Source: Zhang and Sennrich 2019.
class RMSNorm : public Module {
 public:
  explicit RMSNorm(int64_t width, double eps = 1e-5, DType dtype = DType::f32,
                   Device device = kCpu);

  Tensor operator()(const Tensor& x) const;  // [..., C] -> [..., C]
  void visit(Visitor& visitor) override;

  Tensor weight;

 private:
  double eps_;
};

// (x - mean(x)) / sqrt(var(x) + eps) * weight + bias with the biased variance. Parameters:
// weight [C], bias [C] unless switched off. Source: Ba, Kiros and Hinton 2016.
class LayerNorm : public Module {
 public:
  explicit LayerNorm(int64_t width, Bias with_bias = Bias::yes, double eps = 1e-5,
                     DType dtype = DType::f32, Device device = kCpu);

  Tensor operator()(const Tensor& x) const;  // [..., C] -> [..., C]
  void visit(Visitor& visitor) override;

  Tensor weight;
  Tensor bias;  // undefined without bias

 private:
  double eps_;
};

// x itself.
class Identity : public Module {
 public:
  Tensor operator()(const Tensor& x) const { return x; }
  void visit(Visitor&) override {}
};

using Norm = std::variant<RMSNorm, LayerNorm, Identity>;

struct NormConfig {
  NormKind kind = NormKind::rms;
  int64_t width = 0;
  double eps = 1e-5;
  Bias bias = Bias::yes;  // of LayerNorm
};

Norm make_norm(const NormConfig& config, DType dtype = DType::f32, Device device = kCpu);

}  // namespace tapir::nn
