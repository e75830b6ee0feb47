#include "nn/linear.h"

#include "autograd/ops.h"
#include "nn/compressed_weight.h"
#include "nn/init.h"

namespace tapir::nn {

Linear::Linear(int64_t in, int64_t out, Generator& generator, Bias with_bias, DType dtype,
               Device device) {
  require(in > 0 && out > 0, "linear", "in and out must be positive, got {} and {}", in, out);
  weight = linear_weight(in, out, generator, dtype, device);
  if (with_bias == Bias::yes) bias = parameter(Tensor::zeros({out}, dtype, device));
}

Linear::Linear(Tensor shared_weight, Tensor shared_bias)
    : weight(std::move(shared_weight)), bias(std::move(shared_bias)) {
  require(weight.rank() == 2, "linear", "weight must be [out, in], got {}", weight.shape());
}

Tensor Linear::operator()(const Tensor& x) const {
  const Scope scope = enter();
  if (!compressed) return linear(x, weight, bias);
  const Tensor product = compressed->product(x);
  return bias.defined() ? product + bias : product;
}

void Linear::visit(Visitor& visitor) {
  visitor.parameter("weight", weight);
  visitor.parameter("bias", bias);
}

}  // namespace tapir::nn
