// Stochastic gradient descent with momentum. Source: Sutskever et al. 2013, in PyTorch's form:
// g <- grad + decay theta; v <- momentum v + g (g at first); theta <- theta - lr v, or with
// Nesterov's look-ahead theta <- theta - lr (g + momentum v).
#pragma once

#include "optim/optimizer.h"

namespace tapir::optim {

// Other values than those named are an Error of the optimizer's constructor.
struct SgdOptions {
  double lr = 1e-2;       // at least 0
  double momentum = 0.0;  // in [0, 1)
  bool nesterov = false;  // needs momentum > 0
  double weight_decay = 0.0;
  std::vector<GroupRule> rules = {};
};

// State with momentum: "optim.velocity.<name>", of the shape of the parameter.
class Sgd : public Optimizer {
 public:
  explicit Sgd(const std::vector<NamedTensor>& parameters, const SgdOptions& options = {});

 private:
  std::vector<const Buffers*> buffers() const override;
  void update(const std::vector<size_t>& active, ConstView guard) override;

  SgdOptions options_;
  Buffers velocity_;  // empty without momentum
};

}  // namespace tapir::optim
