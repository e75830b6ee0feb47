// SGD against PyTorch, its saved state and its errors.
#include "optim/sgd.h"

#include "tests/support/expect_error.h"
#include "tests/support/optimizers.h"

namespace tapir::optim {
namespace {

using tapir::testing::expect_error;
using tapir::testing::expect_golden_steps;
using tapir::testing::golden_parameters;
using tapir::testing::leaf;

TEST(Sgd, MatchesPyTorch) {
  for (const auto dtype : {DType::f64, DType::f32}) {
    for (const auto& golden : tapir::testing::golden_cases("optim", "sgd")) {
      const std::vector<NamedTensor> parameters = golden_parameters(golden, dtype);
      SgdOptions options;
      options.lr = golden.options["lr"];
      options.momentum = golden.options["momentum"];
      options.nesterov = golden.options["nesterov"];
      options.rules = {{"*", {}, golden.options["weight_decay"]}};  // PyTorch decays every rank
      Sgd optimizer(parameters, options);
      expect_golden_steps(optimizer, parameters, golden, dtype);
    }
  }
}

TEST(Sgd, DecaysMatricesOnlyByDefault) {
  const Tensor matrix = leaf({1.0}, {1, 1}), vector = leaf({1.0}, {1});
  Sgd optimizer({{"matrix", matrix}, {"vector", vector}}, {.lr = 0.5, .weight_decay = 0.2});
  matrix.set_grad(Tensor::zeros({1, 1}, DType::f64));
  vector.set_grad(Tensor::zeros({1}, DType::f64));
  optimizer.step();
  EXPECT_DOUBLE_EQ(matrix.item(), 1.0 - 0.5 * 0.2);
  EXPECT_EQ(vector.item(), 1.0);
}

TEST(Sgd, MasterWeightsAccumulateSmallSteps) {
  const Tensor w = leaf({1.0}, {1}, DType::f16);
  Sgd optimizer({{"w", w}}, {.lr = 1e-4});
  w.set_grad(Tensor::ones({1}, DType::f16));
  for (int step = 0; step < 100; ++step) optimizer.step();
  EXPECT_NEAR(w.item(), 0.99, 1e-3);
}

TEST(Sgd, ResumedRunContinuesBitForBit) {
  const SgdOptions options{.lr = 0.1, .momentum = 0.9, .nesterov = true};
  const auto step_from = [](Sgd& optimizer, const Tensor& w, int first, int last) {
    for (int step = first; step < last; ++step) {
      w.set_grad(Tensor::from({std::sin(step), std::cos(step)}, {2}, DType::f64));
      optimizer.step();
    }
  };
  const Tensor whole = leaf({1.0, 2.0}, {2});
  Sgd reference({{"w", whole}}, options);
  step_from(reference, whole, 0, 3);
  Tensor resumed = leaf({0.0, 0.0}, {2});
  Sgd optimizer({{"w", resumed}}, options);
  optimizer.load_state_dict(reference.state_dict());
  resumed.copy_(detach(whole));
  step_from(reference, whole, 3, 6);
  step_from(optimizer, resumed, 3, 6);
  EXPECT_EQ(whole.to_vector(), resumed.to_vector());
}

TEST(Sgd, WithoutMomentumOnlyTheStepIsSaved) {
  const Sgd optimizer({{"w", leaf({1.0}, {1})}});
  ASSERT_EQ(optimizer.state_dict().size(), 1u);
  EXPECT_TRUE(optimizer.state_dict().count("optim.step"));
}

TEST(Sgd, ImpossibleOptionsAreErrors) {
  const auto bad = [](const SgdOptions& options, const std::string& message) {
    expect_error([&] { Sgd({{"w", leaf({1.0}, {1})}}, options); }, {"sgd: " + message});
  };
  bad({.lr = NAN}, "lr is nan");
  bad({.momentum = 1.0}, "momentum is 1, must be in [0, 1)");
  bad({.momentum = -0.5}, "momentum is -0.5");
  bad({.nesterov = true}, "nesterov needs a momentum above 0");
  bad({.weight_decay = -1}, "weight_decay is -1");
}

}  // namespace
}  // namespace tapir::optim
