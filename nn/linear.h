// Linear map of the last axis.
#pragma once

#include <memory>

#include "autograd/generator.h"
#include "nn/module.h"

namespace tapir::nn {

class CompressedWeight;

enum class Bias : bool { no, yes };

// y = x W^T (+ b): x [..., in] -> y [..., out]. Parameters: weight [out, in], bias [out] if asked.
class Linear : public Module {
 public:
  Linear(int64_t in, int64_t out, Generator& generator, Bias bias = Bias::no,
         DType dtype = DType::f32, Device device = kCpu);
  // Uses the given tensors themselves, so that two layers can share one weight.
  explicit Linear(Tensor shared_weight, Tensor shared_bias = Tensor());

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& visitor) override;

  Tensor weight;
  Tensor bias;  // undefined without bias
  // What passes use instead of the weight, if it is there; see compress_weights.
  std::shared_ptr<const CompressedWeight> compressed;
};

}  // namespace tapir::nn
