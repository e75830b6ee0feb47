#include "optim/sgd.h"

namespace tapir::optim {

Sgd::Sgd(const std::vector<NamedTensor>& parameters, const SgdOptions& options)
    : Optimizer("sgd", parameters, options.lr, {options.weight_decay, options.rules}),
      options_(options) {
  require(options.momentum >= 0 && options.momentum < 1, "sgd", "momentum is {}, must be in [0, 1)",
          options.momentum);
  require(!options.nesterov || options.momentum > 0, "sgd", "nesterov needs a momentum above 0");
  if (options.momentum > 0) velocity_ = make_buffers("velocity");
}

std::vector<const Optimizer::Buffers*> Sgd::buffers() const {
  if (velocity_.tensors.empty()) return {};
  return {&velocity_};
}

void Sgd::update(const std::vector<size_t>& active, ConstView guard) {
  const std::vector<Tensor> grads = dense_grads(active);
  std::vector<SgdTensor> tensors;
  for (const size_t i : active) {
    const Slot& slot = slots()[i];
    SgdTensor tensor;
    tensor.param = slot.param.view();
    tensor.grad = grads[tensors.size()].view();
    if (!velocity_.tensors.empty()) tensor.velocity = velocity_.tensors[i].view();
    if (slot.master.defined()) tensor.master = slot.master.view();
    tensor.lr = lr() * slot.lr_scale;
    tensor.weight_decay = slot.weight_decay;
    tensors.push_back(tensor);
  }
  SgdConstants constants;
  constants.momentum = options_.momentum;
  constants.nesterov = options_.nesterov;
  constants.first_step = steps() == 1;
  constants.guard = guard;
  backend().sgd(tensors, constants);
}

}  // namespace tapir::optim
