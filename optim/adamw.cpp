#include "optim/adamw.h"

#include <cmath>

namespace tapir::optim {

AdamW::AdamW(const std::vector<NamedTensor>& parameters, const AdamWOptions& options)
    : Optimizer("adamw", parameters, options.lr, {options.weight_decay, options.rules}),
      options_(options),
      m_(make_buffers("m")),
      v_(make_buffers("v")) {
  const auto require_beta = [](std::string_view name, double beta) {
    require(beta >= 0 && beta < 1, "adamw", "{} is {}, must be in [0, 1)", name, beta);
  };
  require_beta("beta1", options.beta1);
  require_beta("beta2", options.beta2);
  require(std::isfinite(options.eps) && options.eps >= 0, "adamw",
          "eps is {}, must be finite and at least 0", options.eps);
}

void AdamW::update(const std::vector<size_t>& active, ConstView guard) {
  const std::vector<Tensor> grads = dense_grads(active);
  std::vector<AdamWTensor> tensors;
  for (const size_t i : active) {
    const Slot& slot = slots()[i];
    AdamWTensor tensor;
    tensor.param = slot.param.view();
    tensor.grad = grads[tensors.size()].view();
    tensor.m = m_.tensors[i].view();
    tensor.v = v_.tensors[i].view();
    if (slot.master.defined()) tensor.master = slot.master.view();
    tensor.lr = lr() * slot.lr_scale;
    tensor.weight_decay = slot.weight_decay;
    tensors.push_back(tensor);
  }
  AdamWConstants constants;
  constants.beta1 = options_.beta1;
  constants.beta2 = options_.beta2;
  constants.eps = options_.eps;
  constants.step = steps();
  constants.guard = guard;
  backend().adamw(tensors, constants);
}

}  // namespace tapir::optim
