#include "nn/adopt.h"

#include <map>

#include "autograd/ops.h"
#include "autograd/tape.h"
#include "nn/init.h"

namespace tapir::nn {
namespace {

// Exchanges parameters for others, by the tensors that they were.
class Exchanger : public Visitor {
 public:
  explicit Exchanger(const std::map<const TensorImpl*, Tensor>& replacements)
      : replacements_(replacements) {}

  void parameter(std::string_view, Tensor& tensor) override {
    if (!tensor.defined()) return;
    const auto found = replacements_.find(tensor.impl().get());
    if (found != replacements_.end()) tensor = found->second;
  }
  void buffer(std::string_view, Tensor&) override {}
  void child(std::string_view, Module& module) override { module.visit(*this); }

 private:
  const std::map<const TensorImpl*, Tensor>& replacements_;
};

}  // namespace

void adopt_state_dict(Module& module, const StateDict& state) {
  const std::vector<NamedTensor> targets = module.named_parameters();
  check_tensors("load_state_dict", targets, state);
  NoGrad pause;
  // `targets` keeps the old tensors alive, so that their addresses stay unique.
  std::map<const TensorImpl*, Tensor> replacements;
  for (const NamedTensor& target : targets) {
    const Tensor source = detach(state.at(target.name));
    replacements[target.tensor.impl().get()] =
        parameter(to(to(source, target.tensor.dtype()), target.tensor.device()));
  }
  Exchanger exchanger(replacements);
  module.visit(exchanger);
}

}  // namespace tapir::nn
