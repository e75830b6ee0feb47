// Dropout. Source: Srivastava et al. 2014, in the inverted form.
#pragma once

#include "autograd/generator.h"
#include "nn/module.h"

namespace tapir::nn {

// Zeroes each element with probability p and scales the others by 1 / (1 - p), so that the mean
// stays. Without a generator (evaluation) it does nothing.
class Dropout : public Module {
 public:
  explicit Dropout(double probability);  // in [0, 1)

  Tensor operator()(const Tensor& x, Generator* generator) const;
  void visit(Visitor&) override {}

  double probability() const { return probability_; }

 private:
  double probability_;
};

}  // namespace tapir::nn
