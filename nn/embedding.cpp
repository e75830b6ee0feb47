#include "nn/embedding.h"

#include <cmath>

#include "autograd/ops.h"
#include "nn/compressed_weight.h"
#include "nn/init.h"

namespace tapir::nn {

Embedding::Embedding(int64_t vocab_size, int64_t width, Generator& generator, double init_std,
                     DType dtype, Device device) {
  require(vocab_size > 0 && width > 0, "embedding",
          "vocab_size and width must be positive, got {} and {}", vocab_size, width);
  require(std::isfinite(init_std) && init_std > 0, "embedding",
          "init_std is {}, must be positive and finite", init_std);
  weight = embedding_weight(vocab_size, width, init_std, generator, dtype, device);
}

Tensor Embedding::operator()(const Tensor& ids) const {
  const Scope scope = enter();
  return compressed ? compressed->rows(ids) : embedding(weight, ids);
}

void Embedding::visit(Visitor& visitor) {
  visitor.parameter("weight", weight);
}

}  // namespace tapir::nn
