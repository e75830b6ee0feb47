#include "optim/optimizer.h"

#include <cmath>
#include <set>

#include "autograd/ops.h"

namespace tapir::optim {
namespace {

constexpr std::string_view kPrefix = "optim.";

// Whether `text` matches `pattern`, in which '*' stands for any characters. On a mismatch the last
// '*' takes one character more; an earlier one never needs to.
bool matches(std::string_view pattern, std::string_view text) {
  size_t p = 0, t = 0, star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_text = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p, ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

void require_rate(std::string_view kind, std::string_view what, double value) {
  require(std::isfinite(value) && value >= 0, kind, "{} is {}, must be finite and at least 0", what,
          value);
}

void apply_rules(std::string_view kind, const std::vector<GroupRule>& rules,
                 std::vector<Optimizer::Slot>& slots) {
  for (const GroupRule& rule : rules) {
    if (rule.lr_scale)
      require_rate(kind, "lr_scale of rule '" + rule.pattern + "'", *rule.lr_scale);
    if (rule.weight_decay) {
      require_rate(kind, "weight_decay of rule '" + rule.pattern + "'", *rule.weight_decay);
    }
    bool used = false;
    for (Optimizer::Slot& slot : slots) {
      if (!matches(rule.pattern, slot.name)) continue;
      used = true;
      slot.lr_scale = rule.lr_scale.value_or(slot.lr_scale);
      slot.weight_decay = rule.weight_decay.value_or(slot.weight_decay);
    }
    require(used, kind, "rule '{}' matches no parameter, the first is {}", rule.pattern,
            slots.front().name);
  }
}

}  // namespace

std::string master_key(std::string_view parameter) {
  return fmt::format("{}master.{}", kPrefix, parameter);
}

Optimizer::Optimizer(std::string_view kind, const std::vector<NamedTensor>& parameters, double lr,
                     const GroupOptions& groups)
    : kind_(kind) {
  set_lr(lr);
  require_rate(kind, "weight_decay", groups.weight_decay);
  std::set<std::string_view> names;
  std::set<const TensorImpl*> tensors;
  for (const NamedTensor& parameter : parameters) {
    const Tensor& tensor = parameter.tensor;
    require(names.insert(parameter.name).second, kind, "two parameters are called {}",
            parameter.name);
    require(tensors.insert(tensor.impl().get()).second, kind,
            "{} is a second name of a parameter already given; tied weights are stepped once",
            parameter.name);
    if (!tensor.requires_grad()) continue;
    require(tensor.is_contiguous(), kind, "{} {} is a strided view; optimize the tensor it views",
            parameter.name, tensor.shape());
    Slot slot;
    slot.name = parameter.name;
    slot.param = tensor;
    slot.weight_decay = tensor.rank() >= 2 ? groups.weight_decay : 0.0;
    if (size_of(tensor.dtype()) < size_of(DType::f32)) {
      slot.master = to(detach(tensor), DType::f32);
    }
    slot.seen_version = tensor.storage().version();
    slots_.push_back(std::move(slot));
    require_same_device(kind, slots_.front().param, tensor);
  }
  require(!slots_.empty(), kind, "none of the {} parameters requires grad", parameters.size());
  apply_rules(kind, groups.rules, slots_);
}

void Optimizer::set_lr(double lr) {
  require_rate(kind_, "lr", lr);
  lr_ = lr;
}

void Optimizer::step(const Tensor& guard) {
  require(!Tape::recording(), kind_,
          "would write to parameters while a tape records; run backward first, or end its scope");
  std::vector<size_t> active;
  for (size_t i = 0; i < slots_.size(); ++i)
    if (slots_[i].param.grad().defined()) active.push_back(i);
  require(!active.empty(), kind_, "no parameter has a gradient; run backward before step");
  ConstView guard_view;
  if (guard.defined()) {
    require(guard.numel() == 1 && guard.dtype() == DType::f64, kind_,
            "the guard is {} {}, must be one f64", guard.dtype(), guard.shape());
    require_same_device(kind_, slots_.front().param, guard);
    guard_view = guard.view();
  }
  for (const size_t i : active) refresh_master(slots_[i]);
  ++steps_;
  update(active, guard_view);
  for (const size_t i : active) {
    Storage& storage = slots_[i].param.storage();
    storage.bump_version();
    slots_[i].seen_version = storage.version();
  }
}

std::vector<Tensor> Optimizer::dense_grads(const std::vector<size_t>& active) const {
  std::vector<Tensor> grads;
  for (const size_t i : active) grads.push_back(contiguous(slots_[i].param.grad()));
  return grads;
}

void Optimizer::zero_grad() {
  for (const Slot& slot : slots_) slot.param.zero_grad();
}

// Somebody else may have written to the parameter, a loaded checkpoint for example. Elements that
// are still what the master rounds to keep the master's extra digits.
void Optimizer::refresh_master(Slot& slot) {
  if (!slot.master.defined() || slot.param.storage().version() == slot.seen_version) return;
  const Tensor param = detach(slot.param);
  const Tensor unchanged = eq(to(slot.master, param.dtype()), param);
  slot.master.copy_(where(unchanged, slot.master, to(param, DType::f32)));
}

void Optimizer::set_masters(const StateDict& values) {
  for (Slot& slot : slots_) {
    if (!slot.master.defined()) continue;
    const auto found = values.find(slot.name);
    require(found != values.end(), kind_, "set_masters has no value for {}", slot.name);
    slot.master.copy_(found->second);
    slot.param.copy_(found->second);
    slot.seen_version = slot.param.storage().version();
  }
}

Optimizer::Buffers Optimizer::make_buffers(std::string_view name) const {
  Buffers made{name, {}};
  for (const Slot& slot : slots_) {
    const Tensor& param = slot.param;
    made.tensors.push_back(
        Tensor::zeros(param.shape(), accum_dtype(param.dtype()), param.device()));
  }
  return made;
}

StateDict Optimizer::state_dict() const {
  StateDict state;
  const auto step = static_cast<int32_t>(steps_);
  state[fmt::format("{}step", kPrefix)] = Tensor::from(std::span<const int32_t>(&step, 1), {});
  for (const Slot& slot : slots_) {
    if (slot.master.defined()) state[master_key(slot.name)] = slot.master;
  }
  for (const Buffers* kind : buffers()) {
    for (size_t i = 0; i < slots_.size(); ++i) {
      state[fmt::format("{}{}.{}", kPrefix, kind->name, slots_[i].name)] = kind->tensors[i];
    }
  }
  return state;
}

void Optimizer::load_state_dict(const StateDict& state) {
  std::vector<NamedTensor> targets;
  for (const auto& entry : state_dict()) targets.push_back({entry.first, entry.second});
  StateDict own;
  for (const auto& entry : state)
    if (entry.first.starts_with(kPrefix)) own.insert(entry);
  const std::string step_key = fmt::format("{}step", kPrefix);
  const auto saved_step = own.find(step_key);
  const bool has_step = saved_step != own.end() && saved_step->second.numel() == 1;
  const double step = has_step ? saved_step->second.item() : 0.0;
  require(step >= 0, kind_, "{} is {}, must not be negative", step_key, step);
  load_tensors("load_state_dict", targets, own);
  steps_ = static_cast<int64_t>(step);
}

}  // namespace tapir::optim
