// The checker itself: planted wrong gradients are found and shown, right ones pass, and what it
// cannot judge is refused.
#include "autograd/gradcheck.h"

#include <cmath>

#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "tests/support/expect_error.h"
#include "tests/support/tensors.h"

namespace tapir {
namespace {

using testing::bools;
using testing::counting;
using testing::expect_error;
using testing::f64;
using testing::leaf;

using Inputs = std::vector<Tensor>;

Tensor random_leaf(const Shape& shape, DType dtype = DType::f64) {
  Generator generator(11);
  return randn(shape, generator, dtype).set_requires_grad();
}

// x^2 elementwise, with what `spoil` makes of the right gradient.
GradcheckReport check_square(const std::function<Tensor(const Tensor&)>& spoil,
                             const Shape& shape = {3, 3}) {
  const auto run = [&](const Inputs& in) {
    const Tensor x = in[0];
    return record("planted", square(detach(x)), {x},
                  [x, spoil](const Tensor& grad) { return std::vector{spoil(grad * x * 2.0)}; });
  };
  return gradcheck(run, {random_leaf(shape)});
}

TEST(GradcheckFinds, NothingInARightGradient) {
  const GradcheckReport report = check_square([](const Tensor& grad) { return grad; });
  EXPECT_TRUE(report.passed()) << report.to_string();
  ASSERT_EQ(report.entries.size(), 1u);
  EXPECT_EQ(report.entries[0].checked, 9);
  EXPECT_LT(report.entries[0].error, 1e-8);
}

TEST(GradcheckFinds, AWrongFactor) {
  EXPECT_FALSE(check_square([](const Tensor& grad) { return grad * 1.001; }).passed());
  EXPECT_FALSE(check_square([](const Tensor& grad) { return grad * 1.000001; }).passed());
}

TEST(GradcheckFinds, AWrongSign) {
  EXPECT_FALSE(check_square([](const Tensor& grad) { return -grad; }).passed());
}

TEST(GradcheckFinds, ATransposedGradient) {
  EXPECT_FALSE(check_square([](const Tensor& grad) { return transpose(grad); }).passed());
}

TEST(GradcheckFinds, AMissingGradient) {
  EXPECT_FALSE(check_square([](const Tensor& grad) { return grad * 0.0; }).passed());
  EXPECT_FALSE(check_square([](const Tensor&) { return Tensor(); }).passed());
}

TEST(GradcheckFinds, NaN) {
  const GradcheckReport report =
      check_square([](const Tensor& grad) { return grad * std::nan(""); });
  EXPECT_FALSE(report.passed());
  EXPECT_TRUE(std::isnan(report.entries[0].error));
}

TEST(GradcheckFinds, OneWrongElementAndSaysWhich) {
  const GradcheckReport report = check_square(
      [](const Tensor& grad) {
        Tensor spoiled = clone(grad);
        slice(select(spoiled, 0, 4), 0, 6, 7).fill_(3.0);
        return spoiled;
      },
      {5, 9});
  EXPECT_FALSE(report.passed());
  const GradcheckEntry& entry = report.entries[0];
  EXPECT_EQ(entry.worst, (Shape{4, 6}));
  EXPECT_EQ(entry.analytic, 3.0);
  EXPECT_NE(report.to_string().find("WRONG"), std::string::npos);
}

// The sum of a softmax is always 1: with a plain sum as loss every gradient would look right.
TEST(GradcheckFinds, WhatAPlainSumWouldHide) {
  const auto softmax_without_gradient = [](const Inputs& in) {
    return record("planted", softmax(detach(in[0])), {in[0]},
                  [](const Tensor& grad) { return std::vector{grad * 0.0}; });
  };
  EXPECT_FALSE(gradcheck(softmax_without_gradient, {random_leaf({2, 5})}).passed());
  EXPECT_TRUE(
      gradcheck([](const Inputs& in) { return softmax(in[0]); }, {random_leaf({2, 5})}).passed());
}

TEST(GradcheckFinds, TheWrongTensorAmongSeveral) {
  const Tensor x = random_leaf({4}), weight = random_leaf({4}), bias = random_leaf({4});
  const auto run = [&] {
    return record("planted", detach(x) * detach(weight) + detach(bias), {x, weight, bias},
                  [=](const Tensor& grad) {
                    return std::vector{grad * weight, grad * x * 0.99, grad};
                  });
  };
  const GradcheckReport report =
      gradcheck(run, {{"x", x}, {"layer.weight", weight}, {"layer.bias", bias}});
  ASSERT_EQ(report.entries.size(), 3u);
  EXPECT_TRUE(report.entries[0].passed);
  EXPECT_FALSE(report.entries[1].passed);
  EXPECT_TRUE(report.entries[2].passed);
  EXPECT_EQ(report.entries[1].name, "layer.weight");
  EXPECT_NEAR(report.entries[1].error, 0.01, 1e-4);
  EXPECT_FALSE(report.passed());
}

TEST(GradcheckReport, IsATable) {
  const Tensor x = leaf({2, 3}, {2, 1});
  const GradcheckReport report =
      gradcheck([](const Inputs& in) { return square(in[1]); }, {f64({1}), x});
  const std::string text = report.to_string();
  // A header and one line for the only input that requires grad.
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  for (const char* part : {"tensor", "shape", "checked", "worst at", "analytic", "numeric", "error",
                           "input 1", "[2, 1]", " 2 ", " ok"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
}

TEST(GradcheckOptions, SampleElements) {
  const Tensor x = random_leaf({10, 10});
  GradcheckOptions options;
  options.max_elements = 7;
  int calls = 0;
  const auto run = [&](const Inputs& in) {
    ++calls;
    return square(in[0]);
  };
  const GradcheckReport report = gradcheck(run, {x}, options);
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(report.entries[0].checked, 7);
  EXPECT_EQ(calls, 2 + 2 * 7);  // recorded, repeated, and two for each element
  options.max_elements = 200;
  EXPECT_EQ(gradcheck(run, {x}, options).entries[0].checked, 100);
}

TEST(GradcheckOptions, SamplesAreDistinctAndFollowTheSeed) {
  const auto sampled_worst = [](uint64_t seed) {
    // Every element is equally wrong by its index, so the worst is the largest one sampled.
    const auto run = [](const Inputs& in) {
      const Tensor x = in[0];
      return record("planted", clone(detach(x)), {x},
                    [](const Tensor& grad) { return std::vector{grad + counting(grad.shape())}; });
    };
    GradcheckOptions options;
    options.seed = seed;
    options.max_elements = 1;
    return gradcheck(run, {random_leaf({1000})}, options).entries[0].worst;
  };
  EXPECT_EQ(sampled_worst(1), sampled_worst(1));
  EXPECT_NE(sampled_worst(1), sampled_worst(2));
}

TEST(GradcheckOptions, F32HasBoundsOfItsOwn) {
  const Tensor x = random_leaf({4, 4}, DType::f32);
  const auto run = [](const Inputs& in) { return tanh(in[0]); };
  EXPECT_TRUE(gradcheck(run, {x}, GradcheckOptions::for_f32()).passed());
  const auto planted = [](const Inputs& in) {
    return record("planted", tanh(detach(in[0])), {in[0]},
                  [](const Tensor& grad) { return std::vector{grad}; });
  };
  EXPECT_FALSE(gradcheck(planted, {x}, GradcheckOptions::for_f32()).passed());
  // With the f64 bounds f32 would fail for its rounding alone, which says nothing.
  expect_error([&] { gradcheck(run, {x}); }, {"gradcheck", "input 0 is f32, not f64", "for_f32()"});
  expect_error([&] { gradcheck(run, {random_leaf({2})}, GradcheckOptions::for_f32()); },
               {"gradcheck", "f64, not f32"});
}

// A gradient that is zero in theory is rounding noise on both sides.
TEST(GradcheckNoise, IsNotTakenForAnError) {
  const auto constant = [](const Inputs& in) { return in[0] / in[0]; };
  const GradcheckReport report = gradcheck(constant, {leaf({0.3, 1.7, -2.9})});
  EXPECT_TRUE(report.passed()) << report.to_string();
}

TEST(GradcheckNoise, AnUnusedTensorHasNoGradient) {
  const Tensor x = random_leaf({3}), unused = random_leaf({3});
  const GradcheckReport report = gradcheck([&] { return x * x; }, {{"x", x}, {"unused", unused}});
  EXPECT_TRUE(report.passed());
  EXPECT_EQ(report.entries[1].numeric, 0);
}

TEST(Gradcheck, LeavesTheTensorsAsTheyWere) {
  const Tensor x = random_leaf({3, 2});
  x.set_grad(Tensor::ones({3, 2}, DType::f64));
  const auto before = testing::bits_of(x);
  gradcheck([](const Inputs& in) { return exp(in[0]); }, {x});
  EXPECT_EQ(testing::bits_of(x), before);
  EXPECT_FALSE(x.grad().defined());
}

TEST(Gradcheck, WorksInsideATapeAndOnEmptyTensors) {
  Tape tape;
  EXPECT_TRUE(
      gradcheck([](const Inputs& in) { return square(in[0]); }, {random_leaf({0, 3})}).passed());
  EXPECT_EQ(tape.size(), 0u);
}

TEST(GradcheckErrors, WhatItCannotJudge) {
  const auto identity = [](const Inputs& in) { return in[0] * 1.0; };
  const Tensor x = random_leaf({2, 3});
  expect_error([&] { gradcheck([](const Inputs&) { return f64({1}); }, {x}); },
               {"gradcheck", "does not depend"});
  expect_error([&] { gradcheck(identity, {f64({1})}); }, {"gradcheck", "no tensor"});
  expect_error(
      [&] {
        gradcheck([&] { return x * 1.0; }, {{"w", f64({1})}});
      },
      {"gradcheck", "w must be a leaf"});
  Tensor strided = transpose(f64({1, 2, 3, 4}, {2, 2}));
  strided.set_requires_grad();
  expect_error([&] { gradcheck(identity, {strided}); },
               {"gradcheck", "input 0 [2, 2]", "not dense", "contiguous"});
  Generator shared(1);
  expect_error(
      [&] { gradcheck([&](const Inputs& in) { return dropout(in[0], 0.5, shared); }, {x}); },
      {"gradcheck", "different results", "Generator"});
  EXPECT_TRUE(gradcheck(
                  [](const Inputs& in) {
                    Generator fresh(1);
                    return dropout(in[0], 0.5, fresh);
                  },
                  {x})
                  .passed());
}

TEST(GradcheckErrors, Options) {
  const auto run = [](GradcheckOptions options) {
    gradcheck([](const Inputs& in) { return square(in[0]); }, {random_leaf({2})}, options);
  };
  expect_error([&] { run({.step = 0}); }, {"gradcheck", "step 0"});
  expect_error([&] { run({.tolerance = -1}); }, {"gradcheck", "tolerance -1"});
  expect_error([&] { run({.tolerance = 1.5}); }, {"gradcheck", "tolerance 1.5 accepts any"});
  expect_error([&] { run({.tolerance = 1e-12}); },
               {"gradcheck", "step 1e-05", "tolerance 1e-12", "larger step"});
  expect_error([&] { run({.step = 1e-30}); }, {"gradcheck", "step 1e-30", "larger step"});
  expect_error([&] { run({.max_elements = -1}); }, {"gradcheck", "max_elements -1"});
  expect_error([&] { run({.dtype = DType::bf16}); }, {"gradcheck", "bf16", "use f64"});
}

}  // namespace
}  // namespace tapir
