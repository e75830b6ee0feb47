#include "nn/init.h"

#include <cmath>

#include "autograd/ops.h"

namespace tapir::nn {

Tensor parameter(Tensor values) {
  return values.set_requires_grad();
}

Tensor linear_weight(int64_t in, int64_t out, Generator& generator, DType dtype, Device device) {
  const double std = std::sqrt(2.0 / static_cast<double>(in + out));
  return parameter(trunc_normal({out, in}, std, kInitCut, generator, dtype, device));
}

Tensor embedding_weight(int64_t vocab_size, int64_t width, double std, Generator& generator,
                        DType dtype, Device device) {
  return parameter(trunc_normal({vocab_size, width}, std, kInitCut, generator, dtype, device));
}

}  // namespace tapir::nn
