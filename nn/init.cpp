#include "nn/init.h"

#include <cmath>
#include <utility>

#include "autograd/ops.h"

namespace tapir::nn {
namespace {

thread_local bool without_values = false;

Tensor normal_weight(const Shape& shape, double std, Generator& generator, DType dtype,
                     Device device) {
  if (without_values) {  // one element, repeated
    const Tensor element = Tensor::zeros({1, 1}, dtype, device);
    return parameter(make_view(element, 0, shape, {0, 0}));
  }
  return parameter(trunc_normal(shape, std, kInitCut, generator, dtype, device));
}

}  // namespace

WithoutValues::WithoutValues() : before_(std::exchange(without_values, true)) {}

WithoutValues::~WithoutValues() {
  without_values = before_;
}

Tensor parameter(Tensor values) {
  return values.set_requires_grad();
}

Tensor linear_weight(int64_t in, int64_t out, Generator& generator, DType dtype, Device device) {
  const double std = std::sqrt(2.0 / static_cast<double>(in + out));
  return normal_weight({out, in}, std, generator, dtype, device);
}

Tensor embedding_weight(int64_t vocab_size, int64_t width, double std, Generator& generator,
                        DType dtype, Device device) {
  return normal_weight({vocab_size, width}, std, generator, dtype, device);
}

}  // namespace tapir::nn
