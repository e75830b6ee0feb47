// AdamW against PyTorch and against the formula; groups, master weights, saved state, errors.
#include "optim/adamw.h"

#include <cmath>
#include <filesystem>

#include "optim/sgd.h"
#include "tests/support/expect_error.h"
#include "tests/support/optimizers.h"

namespace tapir::optim {
namespace {

using tapir::testing::expect_error;
using tapir::testing::expect_golden_steps;
using tapir::testing::golden_parameters;
using tapir::testing::leaf;

// The gradient of step t of a run that no two steps of which are alike.
void set_grads(const std::vector<NamedTensor>& parameters, int64_t step) {
  for (const NamedTensor& parameter : parameters) {
    std::vector<double> grad;
    for (int64_t i = 0; i < parameter.tensor.numel(); ++i) {
      grad.push_back(std::sin(1.0 + static_cast<double>(7 * step + i)));
    }
    parameter.tensor.set_grad(
        Tensor::from(grad, parameter.tensor.shape(), parameter.tensor.dtype()));
  }
}

// The case's groups as rules: rates relative to a base rate, decay set for each by name.
AdamWOptions options_of(const nlohmann::json& options) {
  AdamWOptions result;
  result.lr = options.value("lr", 1e-2);
  result.beta1 = options["betas"][0];
  result.beta2 = options["betas"][1];
  result.eps = options["eps"];
  for (const auto& group : options["groups"]) {
    for (const std::string name : group["params"]) {
      GroupRule rule;
      rule.pattern = name;
      rule.lr_scale = group.value("lr", result.lr) / result.lr;
      rule.weight_decay = group.value("weight_decay", options.value("weight_decay", 0.0));
      result.rules.push_back(rule);
    }
  }
  return result;
}

TEST(AdamW, MatchesPyTorch) {
  for (const auto dtype : {DType::f64, DType::f32}) {
    for (const auto& golden : tapir::testing::golden_cases("optim", "adamw")) {
      const std::vector<NamedTensor> parameters = golden_parameters(golden, dtype);
      AdamW optimizer(parameters, options_of(golden.options));
      expect_golden_steps(optimizer, parameters, golden, dtype);
    }
  }
}

TEST(AdamW, FirstStepByHand) {
  const Tensor w = leaf({2.0, -1.0}, {1, 2});
  AdamW optimizer({{"w", w}}, {.lr = 0.1, .eps = 1e-8, .weight_decay = 0.5});
  w.set_grad(Tensor::from({0.3, -4.0}, {1, 2}, DType::f64));
  optimizer.step();
  // At first both bias-corrected moments are the gradient and its square: a step of lr each.
  const std::vector<double> after = w.to_vector();
  EXPECT_NEAR(after[0], 2.0 * (1 - 0.1 * 0.5) - 0.1 * 0.3 / (0.3 + 1e-8), 1e-15);
  EXPECT_NEAR(after[1], -1.0 * (1 - 0.1 * 0.5) + 0.1 * 4.0 / (4.0 + 1e-8), 1e-15);
  EXPECT_EQ(optimizer.steps(), 1);
}

TEST(AdamW, DecaysMatricesOnlyUnlessARuleSaysOtherwise) {
  const auto decay_of = [](const AdamWOptions& options) {
    const AdamW optimizer({{"layers.0.w", leaf({1, 2}, {1, 2})},
                           {"layers.0.bias", leaf({1}, {1})},
                           {"layers.10.w", leaf({1, 2}, {2, 1})}},
                          options);
    std::vector<double> decay;
    for (const auto& slot : optimizer.slots()) decay.push_back(slot.weight_decay);
    return decay;
  };
  AdamWOptions options;
  options.weight_decay = 0.1;
  EXPECT_EQ(decay_of(options), (std::vector{0.1, 0.0, 0.1}));
  options.rules = {{"*.bias", {}, 0.2}};
  EXPECT_EQ(decay_of(options), (std::vector{0.1, 0.2, 0.1}));
  options.rules = {{"layers.0.*", {}, 0.3}, {"*0*w", {}, 0.4}};
  EXPECT_EQ(decay_of(options), (std::vector{0.4, 0.3, 0.4}));
  options.rules = {{"layers.?.w", {}, 0.3}};
  expect_error([&] { decay_of(options); },
               {"adamw: rule 'layers.?.w' matches no parameter, the first is layers.0.w"});
}

TEST(AdamW, LearningRateScaleFollowsTheSchedule) {
  const Tensor a = leaf({1.0}, {1}), b = leaf({1.0}, {1});
  AdamW optimizer({{"a", a}, {"b", b}}, {.lr = 1.0, .rules = {{"b", 0.1, {}}}});
  optimizer.set_lr(0.01);
  for (const Tensor& tensor : {a, b}) tensor.set_grad(Tensor::from({5.0}, {1}, DType::f64));
  optimizer.step();
  EXPECT_NEAR(a.item(), 1.0 - 0.01, 1e-9);
  EXPECT_NEAR(b.item(), 1.0 - 0.001, 1e-9);
}

TEST(AdamW, ParametersWithoutGradientStay) {
  const Tensor used = leaf({1.0}, {1, 1}), idle = leaf({1.0}, {1, 1});
  AdamW optimizer({{"used", used}, {"idle", idle}}, {.weight_decay = 0.5});
  used.set_grad(Tensor::from({1.0}, {1, 1}, DType::f64));
  optimizer.step();
  EXPECT_NE(used.item(), 1.0);
  EXPECT_EQ(idle.item(), 1.0);
}

TEST(AdamW, AGuardThatIsNotFiniteChangesNothing) {
  const Tensor w = leaf({1.0, 2.0}, {2});
  AdamW adamw({{"w", w}}, {.lr = 0.1});
  Sgd sgd({{"w", w}}, {.lr = 0.1, .momentum = 0.9});
  w.set_grad(Tensor::ones({2}, DType::f64));
  for (Optimizer* optimizer : {static_cast<Optimizer*>(&adamw), static_cast<Optimizer*>(&sgd)}) {
    const std::vector<double> before = w.to_vector();
    optimizer->step(Tensor::scalar(NAN, DType::f64));
    EXPECT_EQ(w.to_vector(), before);
    for (const auto& [name, tensor] : optimizer->state_dict()) {
      if (name == "optim.step") continue;
      EXPECT_EQ(tensor.to_vector(), std::vector<double>(2)) << name;
    }
    optimizer->step(Tensor::scalar(1.0, DType::f64));
    EXPECT_NE(w.to_vector(), before);
    expect_error([&] { optimizer->step(Tensor::scalar(1.0)); }, {"the guard is f32 []"});
  }
}

TEST(AdamW, StridedGradientsAreReadInOrder) {
  const Tensor a = leaf({1, 2, 3, 4}, {2, 2}), b = leaf({1, 2, 3, 4}, {2, 2});
  const Tensor grad = Tensor::from({1, -1, 2, 5}, {2, 2}, DType::f64);
  a.set_grad(transpose(grad));
  b.set_grad(contiguous(transpose(grad)));
  AdamW({{"a", a}}, {.eps = 1.0}).step();
  AdamW({{"b", b}}, {.eps = 1.0}).step();
  EXPECT_EQ(a.to_vector(), b.to_vector());
}

TEST(AdamW, FrozenParametersHaveNoState) {
  const Tensor trained = leaf({1.0}, {1}), frozen = Tensor::from({1.0}, {1}, DType::f64);
  const AdamW optimizer({{"frozen", frozen}, {"trained", trained}});
  EXPECT_EQ(optimizer.slots().size(), 1u);
  EXPECT_FALSE(optimizer.state_dict().count("optim.m.frozen"));
}

// A step of 1e-4 is far below bf16's spacing of 2^-7 near 1; without a master nothing would move.
TEST(AdamW, MasterWeightsAccumulateSmallSteps) {
  const Tensor w = leaf({1.0}, {1}, DType::bf16);
  AdamW optimizer({{"w", w}}, {.lr = 1e-4});
  const Tensor one = Tensor::from({1.0}, {1}, DType::bf16);
  w.set_grad(one);
  optimizer.step();
  EXPECT_EQ(w.item(), 1.0);
  for (int step = 1; step < 100; ++step) optimizer.step();
  EXPECT_NEAR(optimizer.slots()[0].master.item(), 1.0 - 100 * 1e-4, 1e-5);
  EXPECT_EQ(w.item(), 0.98828125);  // 0.99 rounded to bf16
  EXPECT_EQ(optimizer.state_dict().at("optim.m.w").dtype(), DType::f32);
}

TEST(AdamW, MastersTakeValuesThatTheParametersRound) {
  const Tensor w = leaf({1.0, 2.0}, {2}, DType::bf16), b = leaf({1.0}, {1});
  AdamW optimizer({{"w", w}, {"b", b}}, {.lr = 0.0});
  optimizer.set_masters({{"w", Tensor::from({1.001, 3.0}, {2})}});
  const std::vector<double> masters = {static_cast<double>(1.001f), 3.0};
  EXPECT_EQ(optimizer.slots()[0].master.to_vector(), masters);
  EXPECT_EQ(w.to_vector(), (std::vector{1.0, 3.0}));
  EXPECT_EQ(b.item(), 1.0);
  w.set_grad(Tensor::from({1.0, 1.0}, {2}, DType::bf16));
  optimizer.step();
  EXPECT_EQ(optimizer.slots()[0].master.to_vector(), masters);
  expect_error([&] { optimizer.set_masters({}); }, {"adamw: set_masters has no value for w"});
}

TEST(AdamW, MasterFollowsWritesFromOutside) {
  Tensor w = leaf({1.0, 1.0}, {2}, DType::bf16);
  AdamW optimizer({{"w", w}}, {.lr = 1e-4});
  w.set_grad(Tensor::from({1.0, 1.0}, {2}, DType::bf16));
  optimizer.step();
  const double kept = optimizer.slots()[0].master.to_vector()[0];
  w.copy_(Tensor::from({1.0, 2.0}, {2}));  // the first element is what it was
  optimizer.set_lr(0.0);
  optimizer.step();
  EXPECT_EQ(optimizer.slots()[0].master.to_vector(), (std::vector<double>{kept, 2.0}));
}

TEST(AdamW, ResumedRunContinuesBitForBit) {
  for (const auto dtype : {DType::f64, DType::f32, DType::bf16}) {
    const auto start = [&] {
      return std::vector<NamedTensor>{{"w", leaf({0.5, -1.5, 2.0}, {1, 3}, dtype)},
                                      {"b", leaf({0.25}, {1}, dtype)}};
    };
    const AdamWOptions options{.lr = 0.01, .weight_decay = 0.1};
    const std::vector<NamedTensor> whole = start();
    AdamW reference(whole, options);
    StateDict saved, weights;
    for (int step = 0; step < 10; ++step) {
      if (step == 5) {
        for (const auto& entry : reference.state_dict()) saved[entry.first] = clone(entry.second);
        for (const NamedTensor& p : whole) weights[p.name] = clone(detach(p.tensor));
      }
      set_grads(whole, step);
      reference.step();
    }
    const std::vector<NamedTensor> resumed = start();
    AdamW optimizer(resumed, options);
    saved["model.weight"] = Tensor::zeros({2});  // other parts of a checkpoint are no concern of it
    optimizer.load_state_dict(saved);
    load_tensors("test", resumed, weights);
    EXPECT_EQ(optimizer.steps(), 5);
    for (int step = 5; step < 10; ++step) {
      set_grads(resumed, step);
      optimizer.step();
    }
    for (size_t i = 0; i < whole.size(); ++i) {
      EXPECT_EQ(whole[i].tensor.to_vector(), resumed[i].tensor.to_vector()) << name_of(dtype);
    }
  }
}

TEST(AdamW, StateGoesThroughAFile) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "adamw_state.safetensors";
  const std::vector<NamedTensor> parameters{{"w", leaf({1.0, 2.0}, {1, 2}, DType::bf16)}};
  AdamW optimizer(parameters);
  set_grads(parameters, 0);
  optimizer.step();
  save_safetensors(path, optimizer.state_dict());
  AdamW other({{"w", leaf({1.0, 2.0}, {1, 2}, DType::bf16)}});
  other.load_state_dict(load_safetensors(path).tensors);
  EXPECT_EQ(other.steps(), 1);
  for (const auto& entry : optimizer.state_dict()) {
    EXPECT_EQ(entry.second.to_vector(), other.state_dict().at(entry.first).to_vector());
  }
  std::filesystem::remove(path);
}

TEST(AdamW, BadStateIsOneError) {
  AdamW optimizer({{"w", leaf({1.0, 2.0}, {1, 2})}, {"b", leaf({1.0}, {1})}});
  StateDict state = optimizer.state_dict();
  state.erase("optim.m.w");
  state["optim.v.w"] = Tensor::zeros({2});
  state["optim.velocity.w"] = Tensor::zeros({1, 2});
  expect_error([&] { optimizer.load_state_dict(state); },
               {"load_state_dict: missing optim.m.w", "optim.v.w is [2], must be [1, 2]",
                "unexpected optim.velocity.w"});
  state = optimizer.state_dict();
  const int32_t negative = -3;
  state["optim.step"] = Tensor::from(std::span<const int32_t>(&negative, 1), {});
  expect_error([&] { optimizer.load_state_dict(state); }, {"optim.step is -3"});
}

TEST(AdamW, ImpossibleOptionsAreErrors) {
  const auto bad = [](const AdamWOptions& options, const std::string& message) {
    expect_error([&] { AdamW({{"w", leaf({1.0}, {1})}}, options); }, {"adamw: " + message});
  };
  bad({.lr = -1}, "lr is -1, must be finite and at least 0");
  bad({.lr = INFINITY}, "lr is inf");
  bad({.beta1 = 1.0}, "beta1 is 1, must be in [0, 1)");
  bad({.beta2 = -0.1}, "beta2 is -0.1");
  bad({.eps = -1e-8}, "eps is -1e-08");
  bad({.weight_decay = NAN}, "weight_decay is nan");
  bad({.rules = {{"w", -1.0, {}}}}, "lr_scale of rule 'w' is -1");
  bad({.rules = {{"w", {}, -1.0}}}, "weight_decay of rule 'w' is -1");
}

TEST(AdamW, ImpossibleParametersAreErrors) {
  const Tensor w = leaf({1.0}, {1});
  expect_error(
      [&] {
        AdamW({{"w", w}, {"w", leaf({1.0}, {1})}});
      },
      {"adamw: two parameters are called w"});
  expect_error([&] { AdamW({{"a", w}, {"b", w}}); }, {"adamw: b is a second name"});
  expect_error(
      [&] {
        AdamW({{"w", Tensor::zeros({1})}});
      },
      {"adamw: none of the 1 parameters requires grad"});
  const Tensor view = transpose(Tensor::zeros({2, 3}));
  expect_error(
      [&] {
        AdamW({{"w", Tensor(view).set_requires_grad()}});
      },
      {"adamw: w [3, 2] is a strided view"});
  AdamW optimizer({{"w", w}});
  expect_error([&] { optimizer.step(); }, {"adamw: no parameter has a gradient"});
  w.set_grad(Tensor::ones({1}, DType::f64));
  Tape tape;
  expect_error([&] { optimizer.step(); },
               {"adamw: would write to parameters while a tape records"});
}

TEST(AdamW, StepInvalidatesTapesThatSavedTheWeight) {
  const Tensor w = leaf({2.0}, {1});
  AdamW optimizer({{"w", w}});
  Tape tape;
  const Tensor y = mul(w, w);
  w.set_grad(Tensor::ones({1}, DType::f64));
  {
    NoGrad pause;
    optimizer.step();
  }
  expect_error([&] { tape.backward(y); }, {"written in place"});
}

}  // namespace
}  // namespace tapir::optim
