#include "nn/dropout.h"

#include "autograd/ops.h"

namespace tapir::nn {

Dropout::Dropout(double probability) : probability_(probability) {
  require(probability >= 0 && probability < 1, "dropout", "probability is {}, must be in [0, 1)",
          probability);
}

Tensor Dropout::operator()(const Tensor& x, Generator* generator) const {
  const Scope scope = enter();
  return generator && probability_ > 0 ? dropout(x, probability_, *generator) : x;
}

}  // namespace tapir::nn
