// AdamW. Source: Loshchilov and Hutter 2019, "Decoupled weight decay regularization"; the formula
// is PyTorch's: theta <- theta (1 - lr decay), then lr m_hat / (sqrt(v_hat) + eps) is subtracted.
#pragma once

#include "optim/optimizer.h"

namespace tapir::optim {

// Other values than those named are an Error of the optimizer's constructor.
struct AdamWOptions {
  double lr = 1e-3;      // at least 0
  double beta1 = 0.9;    // in [0, 1)
  double beta2 = 0.999;  // in [0, 1)
  double eps = 1e-8;     // at least 0
  double weight_decay = 0.01;
  std::vector<GroupRule> rules = {};
};

// State: "optim.m.<name>", "optim.v.<name>", of the shape of the parameter.
class AdamW : public Optimizer {
 public:
  explicit AdamW(const std::vector<NamedTensor>& parameters, const AdamWOptions& options = {});

  const AdamWOptions& options() const { return options_; }

 private:
  std::vector<const Buffers*> buffers() const override { return {&m_, &v_}; }
  void update(const std::vector<size_t>& active, ConstView guard) override;

  AdamWOptions options_;
  Buffers m_, v_;
};

}  // namespace tapir::optim
