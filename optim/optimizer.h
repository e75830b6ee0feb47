// What all optimizers share: parameters with their rates, master weights, saved state.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/state_dict.h"
#include "backends/backend.h"

namespace tapir::optim {

// Overrides the rates of the parameters whose names match; of several matching rules the last
// one that sets a field wins.
struct GroupRule {
  std::string pattern;                 // '*' stands for any characters: "*.bias", "layers.0.*"
  std::optional<double> lr_scale;      // factor on the optimizer's learning rate
  std::optional<double> weight_decay;  // instead of the default for the parameter's rank
};

// Weight decay applies to tensors of rank >= 2 unless a rule says otherwise: decaying gains and
// biases only shifts what they are there to fit.
struct GroupOptions {
  double weight_decay = 0.0;
  std::vector<GroupRule> rules = {};
};

// The key in a state dict of a parameter's f32 copy.
std::string master_key(std::string_view parameter);

// Steps the parameters that require grad. A parameter without gradient is left alone in that step.
// 16-bit parameters are stepped in f32 master copies and rounded from them, because an update is
// often smaller than half their spacing. To construct one from no parameter that requires grad,
// from two of one name or tensor, from a strided view, or with a rule that matches nothing, is an
// Error.
class Optimizer {
 public:
  virtual ~Optimizer() = default;
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;

  // One update from the gradients. None at all, or a recording tape, is an Error. With a `guard`,
  // an f64 scalar on the parameters' device, nothing is changed unless it is finite, and nobody
  // waits to know.
  void step(const Tensor& guard = {});
  void zero_grad();

  double lr() const { return lr_; }
  void set_lr(double lr);  // finite and >= 0
  int64_t steps() const { return steps_; }

  struct Slot {
    std::string name;
    Tensor param;
    double lr_scale = 1.0;
    double weight_decay = 0.0;
    Tensor master;  // undefined for f32 and f64
    uint64_t seen_version = 0;
  };
  const std::vector<Slot>& slots() const { return slots_; }

  // Gives parameters of 16 bits new values: their f32 copies exactly, themselves rounded. A master
  // that lies between two numbers of 16 bits lets some weights move with the first small steps; of
  // masters that all lie on one, none would. A missing name is an Error.
  void set_masters(const StateDict& values);

  // Everything a resumed run needs: "optim.step" (i32 scalar), "optim.master.<name>" and the
  // buffers of the kind ("optim.m.<name>", ...). Tensors share storage with the optimizer.
  StateDict state_dict() const;
  // Copies values in. Missing, unexpected and mis-shaped keys are one Error; keys that do not start
  // with "optim." are ignored, so that a whole checkpoint may be passed.
  void load_state_dict(const StateDict& state);

 protected:
  Optimizer(std::string_view kind, const std::vector<NamedTensor>& parameters, double lr,
            const GroupOptions& groups);

  struct Buffers {  // one tensor per slot, in f32 (f64 for f64 parameters)
    std::string_view name;
    std::vector<Tensor> tensors;
  };
  virtual std::vector<const Buffers*> buffers() const = 0;
  // Updates the slots listed in `active`, if the guard allows; steps() already counts this step.
  virtual void update(const std::vector<size_t>& active, ConstView guard) = 0;

  Buffers make_buffers(std::string_view name) const;  // zeros
  // The gradients of those slots, as kernels need them.
  std::vector<Tensor> dense_grads(const std::vector<size_t>& active) const;
  const Backend& backend() const { return slots_.front().param.backend(); }

 private:
  void refresh_master(Slot& slot);

  std::string_view kind_;
  std::vector<Slot> slots_;
  double lr_ = 0.0;
  int64_t steps_ = 0;
};

}  // namespace tapir::optim
