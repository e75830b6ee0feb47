// Gradient clipping against PyTorch, and its errors.
#include "optim/clip.h"

#include <cmath>
#include <limits>

#include "tests/support/expect_error.h"
#include "tests/support/golden.h"

namespace tapir::optim {
namespace {

using tapir::testing::expect_close;
using tapir::testing::expect_error;

std::vector<NamedTensor> with_grads(const StateDict& grads) {
  std::vector<NamedTensor> parameters;
  for (const auto& entry : grads) {
    Tensor parameter = Tensor::zeros_like(entry.second);
    parameter.set_requires_grad().set_grad(clone(entry.second));
    parameters.push_back({entry.first, parameter});
  }
  return parameters;
}

TEST(Clip, MatchesPyTorch) {
  for (const auto dtype : {DType::f64, DType::f32}) {
    for (const auto& golden : tapir::testing::golden_cases("optim", "clip_grad_norm")) {
      const double tolerance = tapir::testing::golden_tolerance(dtype);
      const std::vector<NamedTensor> parameters = with_grads(golden.under("grads.", dtype));
      const double norm = clip_grad_norm(parameters, golden.options["max_norm"]);
      EXPECT_NEAR(norm, golden.get("out", DType::f64).item(), norm * tolerance) << golden.name;
      for (const NamedTensor& parameter : parameters) {
        expect_close(parameter.tensor.grad(), golden.get("out." + parameter.name, dtype), tolerance,
                     golden.name + " " + parameter.name);
      }
    }
  }
}

TEST(Clip, ScalesOnlyAboveTheLimit) {
  const StateDict grads{{"a", Tensor::from({3.0}, {1}, DType::f64)},
                        {"b", Tensor::from({0.0, 4.0}, {2}, DType::f64)}};
  const std::vector<NamedTensor> parameters = with_grads(grads);
  EXPECT_EQ(clip_grad_norm(parameters, 5.0), 5.0);
  EXPECT_EQ(parameters[0].tensor.grad().item(), 3.0);
  EXPECT_EQ(clip_grad_norm(parameters, 2.5), 5.0);
  EXPECT_DOUBLE_EQ(parameters[0].tensor.grad().item(), 3.0 * 2.5 / (5.0 + 1e-6));
  EXPECT_NEAR(grad_norm(parameters), 2.5, 1e-6);
}

TEST(Clip, SixteenBitGradientsAreSummedExactly) {
  const double value = static_cast<double>(static_cast<float>(bf16(0.1f)));
  const StateDict grads{{"a", Tensor::full({10000}, value, DType::bf16)}};
  EXPECT_NEAR(grad_norm(with_grads(grads)), 100.0 * value, 1e-9);
}

TEST(Clip, ParametersWithoutGradientCountAsZero) {
  const Tensor idle = Tensor::zeros({3}).set_requires_grad();
  EXPECT_EQ(clip_grad_norm({{"idle", idle}}, 1.0), 0.0);
  EXPECT_FALSE(idle.grad().defined());
}

TEST(Clip, InTwoStepsGivesTheSame) {
  const StateDict grads{{"a", Tensor::from({3.0, -1.0}, {2})}, {"b", Tensor::from({4.0}, {1})}};
  const std::vector<NamedTensor> at_once = with_grads(grads), in_steps = with_grads(grads);
  const double norm = clip_grad_norm(at_once, 2.0);
  const Tensor squared_norm = squared_grad_norm(in_steps);
  EXPECT_DOUBLE_EQ(squared_norm.item(), norm * norm);
  limit_grad_norm(in_steps, squared_norm, 2.0);
  for (size_t i = 0; i < 2; ++i)
    EXPECT_EQ(in_steps[i].tensor.grad().to_vector(), at_once[i].tensor.grad().to_vector());
}

TEST(Clip, InTwoStepsLeavesNonFiniteGradientsAlone) {
  const std::vector<NamedTensor> parameters = with_grads({{"a", Tensor::from({9.0, NAN}, {2})}});
  const Tensor squared_norm = squared_grad_norm(parameters);
  EXPECT_TRUE(std::isnan(squared_norm.item()));
  limit_grad_norm(parameters, squared_norm, 1.0);
  EXPECT_EQ(parameters[0].tensor.grad().to_vector()[0], 9.0);
}

TEST(Clip, NonFiniteNormNamesTheParameter) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto clip = [](double a, double b) {
    const StateDict grads{{"layers.0.w", Tensor::from({1.0, a}, {2}, DType::f64)},
                          {"layers.1.w", Tensor::from({b, b, 2.0}, {3}, DType::f64)}};
    clip_grad_norm(with_grads(grads), 1.0);
  };
  expect_error([&] { clip(NAN, kInf); },
               {"clip_grad_norm: the gradient of layers.0.w has 1 of 2 values", "DetectAnomaly"});
  expect_error([&] { clip(1.0, kInf); }, {"the gradient of layers.1.w has 2 of 3 values"});
  expect_error([&] { clip(1e200, 1.0); }, {"so large that their norm is inf"});
}

TEST(Clip, LimitMustBePositive) {
  for (const double limit : {0.0, -1.0, static_cast<double>(NAN)}) {
    expect_error([&] { clip_grad_norm({}, limit); }, {"max_norm is ", "must be positive"});
  }
}

}  // namespace
}  // namespace tapir::optim
