// Token embedding.
#pragma once

#include <memory>

#include "autograd/generator.h"
#include "nn/module.h"

namespace tapir::nn {

class CompressedWeight;

// Row lookup: ids i32 [...] in [0, V) -> [..., C]. Parameter: weight [V, C].
class Embedding : public Module {
 public:
  Embedding(int64_t vocab_size, int64_t width, Generator& generator, double init_std = 1.0,
            DType dtype = DType::f32, Device device = kCpu);

  Tensor operator()(const Tensor& ids) const;
  void visit(Visitor& visitor) override;

  Tensor weight;
  // What passes use instead of the weight, if it is there; see compress_weights.
  std::shared_ptr<const CompressedWeight> compressed;
};

}  // namespace tapir::nn
