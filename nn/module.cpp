#include "nn/module.h"

#include <functional>
#include <map>
#include <utility>

#include "autograd/ops.h"
#include "autograd/tape.h"

namespace tapir::nn {
namespace {

// What to do with the fields that a walk meets.
struct Actions {
  std::function<void(const std::string& name, Tensor&)> parameter = [](const auto&, auto&) {};
  std::function<void(const std::string& name, Tensor&)> buffer = [](const auto&, auto&) {};
  std::function<void(Module&)> module = [](auto&) {};
};

// Visits a module and everything below it, spelling out full names.
class Walk : public Visitor {
 public:
  Walk(const Actions& actions, std::string prefix)
      : actions_(actions), prefix_(std::move(prefix)) {}

  void parameter(std::string_view name, Tensor& tensor) override {
    if (tensor.defined()) actions_.parameter(fmt::format("{}{}", prefix_, name), tensor);
  }
  void buffer(std::string_view name, Tensor& tensor) override {
    if (tensor.defined()) actions_.buffer(fmt::format("{}{}", prefix_, name), tensor);
  }
  void child(std::string_view name, Module& module) override {
    Walk inner(actions_, fmt::format("{}{}.", prefix_, name));
    module.visit(inner);
    actions_.module(module);
  }

 private:
  const Actions& actions_;
  std::string prefix_;
};

void walk(Module& module, const Actions& actions) {
  Walk visitor(actions, "");
  module.visit(visitor);
  actions.module(module);
}

// visit() hands out fields for writing, so it is not const; the functions that use this one only
// read them.
void walk(const Module& module, const Actions& actions) {
  walk(const_cast<Module&>(module), actions);
}

class LayerNamer : public Visitor {
 public:
  explicit LayerNamer(const std::string& path) : prefix_(path.empty() ? "" : path + ".") {}

  void parameter(std::string_view, Tensor&) override {}
  void buffer(std::string_view, Tensor&) override {}
  void child(std::string_view name, Module& module) override {
    module.name_layers(fmt::format("{}{}", prefix_, name));
  }

 private:
  std::string prefix_;
};

}  // namespace

std::vector<NamedTensor> Module::named_parameters() const {
  std::vector<NamedTensor> found;
  std::map<const TensorImpl*, bool> seen;
  Actions actions;
  actions.parameter = [&](const std::string& name, Tensor& tensor) {
    if (!std::exchange(seen[tensor.impl().get()], true)) found.push_back({name, tensor});
  };
  walk(*this, actions);
  return found;
}

std::vector<Tensor> Module::parameters() const {
  std::vector<Tensor> found;
  for (const NamedTensor& parameter : named_parameters()) found.push_back(parameter.tensor);
  return found;
}

std::vector<NamedTensor> Module::named_buffers() const {
  std::vector<NamedTensor> found;
  Actions actions;
  actions.buffer = [&](const std::string& name, Tensor& tensor) {
    found.push_back({name, tensor});
  };
  walk(*this, actions);
  return found;
}

int64_t Module::parameter_count() const {
  int64_t count = 0;
  for (const Tensor& parameter : parameters()) count += parameter.numel();
  return count;
}

StateDict Module::state_dict() const {
  StateDict state;
  for (const NamedTensor& parameter : named_parameters()) state[parameter.name] = parameter.tensor;
  return state;
}

void Module::load_state_dict(const StateDict& state) {
  constexpr std::string_view kOp = "load_state_dict";
  StateDict first_names = state;
  std::map<const TensorImpl*, std::string> first_name_of;
  Actions actions;
  actions.parameter = [&](const std::string& name, Tensor& tensor) {
    const auto [entry, is_first] = first_name_of.emplace(tensor.impl().get(), name);
    if (is_first || !state.count(name)) return;
    first_names.erase(name);
    const auto first = state.find(entry->second);
    require(first == state.end() || first->second.to_vector() == state.at(name).to_vector(), kOp,
            "{} and {} differ, but this model ties them; load it into an untied model", name,
            entry->second);
  };
  walk(*this, actions);
  load_tensors(kOp, named_parameters(), first_names);
}

template <typename Convert>
void Module::convert(Convert&& to_target) {
  NoGrad pause;
  // By the tensor before conversion, kept alive so that its address stays unique.
  std::map<std::shared_ptr<TensorImpl>, Tensor> converted;
  Tensor example;
  Actions actions;
  actions.parameter = [&](const std::string&, Tensor& tensor) {
    const bool trained = tensor.requires_grad();
    Tensor& target = converted[tensor.impl()];
    if (!target.defined()) target = to_target(tensor).set_requires_grad(trained);
    tensor = target;
    if (!example.defined()) example = target;
  };
  walk(*this, actions);
  if (!example.defined()) {  // buffers only
    Actions find;
    find.buffer = [&](const std::string&, Tensor& tensor) { example = to_target(tensor); };
    walk(*this, find);
  }
  if (!example.defined()) return;
  Actions rebuild;
  rebuild.module = [&](Module& module) { module.make_buffers(example.dtype(), example.device()); };
  walk(*this, rebuild);
}

void Module::to(DType dtype) {
  require(is_floating(dtype), "to", "parameters must be floating, not {}", dtype);
  convert([dtype](const Tensor& tensor) { return tapir::to(tensor, dtype); });
}

void Module::to(Device device) {
  convert([device](const Tensor& tensor) { return tapir::to(tensor, device); });
}

void Module::name_layers(const std::string& path) {
  path_ = path.empty() ? nullptr : std::make_shared<const std::string>(path);
  LayerNamer namer(path);
  visit(namer);
}

}  // namespace tapir::nn
