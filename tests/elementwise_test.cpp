// Elementwise operations at values worked out by hand, at the edges of their domains, and their
// errors. Random values and gradients are in op_test and ops_golden_test.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "tests/support/expect_error.h"
#include "tests/support/tensors.h"

namespace tapir {
namespace {

using testing::bools;
using testing::Doubles;
using testing::expect_error;
using testing::expect_tensor;
using testing::f64;
using testing::ints;
using testing::leaf;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The gradient of sum(function(x)).
template <typename Function>
Doubles gradient(Function function, const Doubles& at) {
  const Tensor x = leaf(at);
  Tape tape;
  tape.backward(sum(function(x)));
  return x.grad().to_vector();
}

TEST(Arithmetic, BroadcastsByTheUsualRule) {
  const Tensor a = f64({1, 2, 3, 4, 5, 6}, {2, 3}), row = f64({10, 20, 30}), one = f64({100}, {1});
  const Tensor column = f64({1000, 2000}, {2, 1});
  expect_tensor(a + row, {2, 3}, {11, 22, 33, 14, 25, 36});
  expect_tensor(a - one, {2, 3}, {-99, -98, -97, -96, -95, -94});
  expect_tensor(column * row, {2, 3}, {1e4, 2e4, 3e4, 2e4, 4e4, 6e4});
  expect_tensor(row / f64({2}, {1, 1}), {1, 3}, {5, 10, 15});
  expect_tensor(a + Tensor::scalar(1, DType::f64), {2, 3}, {2, 3, 4, 5, 6, 7});
  expect_tensor(Tensor::zeros({0, 3}) + Tensor::ones({3}), {0, 3}, {});
  expect_tensor(Tensor::zeros({0}) + Tensor::ones({1}), {0}, {});
}

TEST(Arithmetic, WithNumbers) {
  const Tensor x = f64({1, -2, 4});
  expect_tensor(x + 1.0, {3}, {2, -1, 5});
  expect_tensor(1.0 + x, {3}, {2, -1, 5});
  expect_tensor(x - 1.0, {3}, {0, -3, 3});
  expect_tensor(1.0 - x, {3}, {0, 3, -3});
  expect_tensor(x * 3.0, {3}, {3, -6, 12});
  expect_tensor(3.0 * x, {3}, {3, -6, 12});
  expect_tensor(x / 2.0, {3}, {0.5, -1, 2});
  expect_tensor(4.0 / x, {3}, {4, -2, 1});
  expect_tensor(-x, {3}, {-1, 2, -4});
  expect_tensor(neg(x), {3}, {-1, 2, -4});
  expect_tensor(clamp_min(x, 0), {3}, {1, 0, 4});
  expect_tensor(pow(x, 2.0), {3}, {1, 4, 16});
}

TEST(Arithmetic, OfIntegers) {
  const Tensor a = ints({7, -7, 2147483647}, {3}), b = ints({2, 2, 1}, {3});
  expect_tensor(a + b, {3}, {9, -5, -2147483648.0});  // wraps around
  expect_tensor(a - b, {3}, {5, -9, 2147483646});
  expect_tensor(a * b, {3}, {14, -14, 2147483647});
  expect_tensor(a / b, {3}, {3, -3, 2147483647});
  expect_tensor(a / Tensor::zeros_like(a), {3}, {0, 0, 0});
  const Tensor lowest = ints({-2147483647 - 1}, {1});
  expect_tensor(lowest / ints({-1}, {1}), {1}, {-2147483648.0});
}

TEST(Arithmetic, ExtremesFollowIEEE) {
  const Tensor x = f64({0, 1, -1, kInfinity, kNaN});
  const Doubles reciprocals = reciprocal(x).to_vector();
  EXPECT_EQ(reciprocals[0], kInfinity);
  EXPECT_EQ(reciprocals[3], 0);
  EXPECT_TRUE(std::isnan(reciprocals[4]));
  EXPECT_TRUE(std::isnan(sqrt(f64({-1})).item()));
  EXPECT_EQ(log(f64({0})).item(), -kInfinity);
  EXPECT_EQ(exp(f64({1000})).item(), kInfinity);
  EXPECT_EQ(exp(f64({-1000})).item(), 0);
  for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
    SCOPED_TRACE(name_of(dtype));
    const Tensor wide = Tensor::from({1000, -1000, kInfinity, -kInfinity, kNaN}, {5}, dtype);
    const Doubles exponentials = exp(wide).to_vector();
    EXPECT_EQ((Doubles(exponentials.begin(), exponentials.begin() + 4)),
              (Doubles{kInfinity, 0, kInfinity, 0}));
    EXPECT_TRUE(std::isnan(exponentials[4]));
  }
}

// The limits of each activation far from zero, forward and backward, in every dtype.
TEST(Activations, NeitherOverflowNorLoseTheirLimits) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    SCOPED_TRACE(name_of(dtype));
    const auto check = [&](Tensor (*function)(const Tensor&), const Doubles& values,
                           const Doubles& slopes) {
      Tensor x = Tensor::from({-1000, 0, 1000}, {3}, dtype).set_requires_grad();
      Tape tape;
      const Tensor y = function(x);
      EXPECT_EQ(y.to_vector(), values);
      tape.backward(y, Tensor::ones({3}, dtype));
      EXPECT_EQ(x.grad().to_vector(), slopes);
    };
    check(sigmoid, {0, 0.5, 1}, {0, 0.25, 0});
    check(tanh, {-1, 0, 1}, {0, 1, 0});
    check(relu, {0, 0, 1000}, {0, 0, 1});
    check(silu, {0, 0, 1000}, {0, 0.5, 1});
    check(gelu, {0, 0, 1000}, {0, 0.5, 1});
    check(gelu_tanh, {0, 0, 1000}, {0, 0.5, 1});
  }
}

TEST(Activations, KnownValues) {
  // To ten digits from tables of the normal distribution and the error function.
  EXPECT_NEAR(gelu(f64({1})).item(), 0.8413447461, 1e-10);
  EXPECT_NEAR(erf(f64({0.5})).item(), 0.5204998778, 1e-10);
  EXPECT_NEAR(sigmoid(f64({std::log(3.0)})).item(), 0.75, 1e-15);
  EXPECT_NEAR(silu(f64({std::log(3.0)})).item(), 0.75 * std::log(3.0), 1e-15);
  EXPECT_NEAR(tanh(f64({std::log(2.0)})).item(), 0.6, 1e-15);
}

TEST(Kinks, HaveTheGradientThatIsDocumented) {
  EXPECT_EQ(gradient(abs, {-2, 0, 2}), (Doubles{-1, 0, 1}));
  EXPECT_EQ(gradient(relu, {-2, 0, 2}), (Doubles{0, 0, 1}));
  EXPECT_EQ(gradient([](const Tensor& x) { return clamp_min(x, 1); }, {0, 1, 2}),
            (Doubles{0, 1, 1}));
  const Tensor two = f64({2, 2, 2});
  EXPECT_EQ(gradient([&](const Tensor& x) { return maximum(x, two); }, {1, 2, 3}),
            (Doubles{0, 0.5, 1}));
  EXPECT_EQ(gradient([&](const Tensor& x) { return minimum(two, x); }, {1, 2, 3}),
            (Doubles{1, 0.5, 0}));
  EXPECT_EQ(gradient([](const Tensor& x) { return max(x, 0); }, {3, 1, 3}), (Doubles{0.5, 0, 0.5}));
}

TEST(Pow, AtZero) {
  EXPECT_EQ(gradient([](const Tensor& x) { return pow(x, 0.0); }, {0, -1}), (Doubles{0, 0}));
  EXPECT_EQ(gradient([](const Tensor& x) { return pow(x, 1.0); }, {0, -1}), (Doubles{1, 1}));
  EXPECT_EQ(gradient([](const Tensor& x) { return pow(x, 2.0); }, {0, -1}), (Doubles{0, -2}));
  // 0^y with tensors: flat in y, and in x for y = 0.
  const Tensor x = leaf({0, 0, 0}), y = leaf({0, 1, 2});
  Tape tape;
  const Tensor power = pow(x, y);
  EXPECT_EQ(power.to_vector(), (Doubles{1, 0, 0}));
  tape.backward(sum(power));
  EXPECT_EQ(x.grad().to_vector(), (Doubles{0, 1, 0}));
  EXPECT_EQ(y.grad().to_vector(), (Doubles{0, 0, 0}));
}

// f16 holds numbers to 65504 only: the square of the divisor would not fit, the quotients do.
TEST(Div, GradientDoesNotSquareTheDivisor) {
  const Tensor y = Tensor::from({300}, {1}, DType::f16).set_requires_grad();
  Tape tape;
  tape.backward(Tensor::from({600}, {1}, DType::f16) / y);
  EXPECT_NEAR(y.grad().item(), -600.0 / 300 / 300, 1e-5);
}

TEST(MaximumMinimum, PassNaNOn) {
  const Tensor x = f64({kNaN, 1, 2}), y = f64({1, kNaN, 1});
  const Doubles high = maximum(x, y).to_vector(), low = minimum(x, y).to_vector();
  EXPECT_TRUE(std::isnan(high[0]) && std::isnan(high[1]) && std::isnan(low[0]) &&
              std::isnan(low[1]));
  EXPECT_EQ(high[2], 2);
  EXPECT_EQ(low[2], 1);
}

TEST(Compare, GivesBools) {
  const Tensor a = f64({1, 2, 3, kNaN}), b = f64({2, 2, 2, kNaN});
  expect_tensor(eq(a, b), {4}, {0, 1, 0, 0});
  expect_tensor(ne(a, b), {4}, {1, 0, 1, 1});
  expect_tensor(lt(a, b), {4}, {1, 0, 0, 0});
  expect_tensor(le(a, b), {4}, {1, 1, 0, 0});
  expect_tensor(gt(a, b), {4}, {0, 0, 1, 0});
  expect_tensor(ge(a, b), {4}, {0, 1, 1, 0});
  EXPECT_EQ(eq(a, b).dtype(), DType::boolean);
  expect_tensor(lt(ints({1, 5}, {2}), ints({3}, {1})), {2}, {1, 0});
  expect_tensor(eq(bools({1, 0}, {2}), bools({1, 1}, {2})), {2}, {1, 0});
  expect_tensor(logical_not(bools({1, 0}, {2})), {2}, {0, 1});
  expect_error([&] { logical_not(a); }, {"logical_not", "f64"});
  expect_error([&] { lt(a, ints({1}, {1})); }, {"lt", "f64", "i32"});
}

TEST(Compare, IsNotRecorded) {
  const Tensor x = leaf({1, 2});
  Tape tape;
  EXPECT_FALSE(gt(x, f64({0, 3})).requires_grad());
  EXPECT_FALSE(argmax(x, 0).requires_grad());
  EXPECT_EQ(tape.size(), 0u);
}

TEST(Where, ChoosesAndBroadcasts) {
  const Tensor condition = bools({1, 0}, {2, 1}), a = f64({1, 2, 3}),
               b = Tensor::zeros({}, DType::f64);
  expect_tensor(where(condition, a, b), {2, 3}, {1, 2, 3, 0, 0, 0});
  // What is not chosen does not matter, not even NaN.
  expect_tensor(where(bools({1, 0}, {2}), f64({1, kNaN}), f64({kNaN, 2})), {2}, {1, 2});
  expect_tensor(where(bools({1, 0}, {2}), ints({1, 2}, {2}), ints({3, 4}, {2})), {2}, {1, 4});
  expect_tensor(masked_fill(f64({1, 2, 3}), bools({0, 1, 0}, {3}), -1), {3}, {1, -1, 3});
  expect_error([&] { where(a, a, a); }, {"where", "bool", "f64"});
  expect_error([&] { where(condition, a, Tensor::zeros({3})); }, {"where", "f64", "f32"});
  expect_error([&] { where(bools({1, 0}, {2}), a, a); }, {"where", "[2]", "[3]"});
  expect_error([&] { masked_fill(a, a, 0); }, {"masked_fill", "bool", "f64"});
  expect_error([&] { masked_fill(a, bools({1, 0}, {2, 1}), 0); }, {"masked_fill", "[2, 1]", "[3]"});
}

TEST(ElementwiseErrors, NameTheOperationAndBothOperands) {
  const Tensor a = f64({1, 2, 3}), b = f64({1, 2}), c = Tensor::zeros({3}), i = ints({1}, {1});
  const Tensor flag = bools({1}, {1});
  using Binary = Tensor (*)(const Tensor&, const Tensor&);
  const std::pair<const char*, Binary> operations[] = {
      {"add", add},         {"sub", sub},         {"mul", mul}, {"div", div}, {"pow", pow},
      {"maximum", maximum}, {"minimum", minimum}, {"eq", eq},   {"ne", ne},   {"lt", lt},
      {"le", le},           {"gt", gt},           {"ge", ge}};
  for (const auto& [name, run] : operations) {
    const Binary function = run;
    const std::string op = name;
    expect_error([&] { function(a, b); }, {op + ":", "[3]", "[2]", "do not broadcast"});
    expect_error([&] { function(a, c); }, {op + ":", "f64 ([3])", "f32 ([3])", "to()"});
    expect_error([&] { function(i, a); }, {op + ":", "i32", "f64"});
  }
  for (const Binary function : {Binary(add), Binary(sub), Binary(mul), Binary(div)}) {
    expect_error([&] { function(flag, flag); }, {"bool"});
  }
  for (const Binary function : {Binary(pow), Binary(maximum), Binary(minimum)}) {
    expect_error([&] { function(i, i); }, {"needs a floating dtype", "i32"});
  }
}

TEST(ElementwiseErrors, UnaryOperationsNeedFloats) {
  const Tensor i = ints({1}, {1});
  using Unary = Tensor (*)(const Tensor&);
  const std::pair<const char*, Unary> operations[] = {{"neg", neg},
                                                      {"abs", abs},
                                                      {"exp", exp},
                                                      {"log", log},
                                                      {"sqrt", sqrt},
                                                      {"rsqrt", rsqrt},
                                                      {"square", square},
                                                      {"sin", sin},
                                                      {"reciprocal", reciprocal},
                                                      {"cos", cos},
                                                      {"tanh", tanh},
                                                      {"erf", erf},
                                                      {"relu", relu},
                                                      {"silu", silu},
                                                      {"sigmoid", sigmoid},
                                                      {"gelu", gelu},
                                                      {"gelu_tanh", gelu_tanh}};
  for (const auto& [name, run] : operations) {
    const Unary function = run;
    expect_error([&] { function(i); }, {std::string(name) + ":", "floating", "i32 [1]", "to()"});
  }
  expect_error([&] { i + 1.0; }, {"add_scalar", "i32"});
  expect_error([&] { i * 2.0; }, {"mul_scalar", "i32"});
  expect_error([&] { pow(i, 2.0); }, {"pow_scalar", "i32"});
  expect_error([&] { clamp_min(i, 2.0); }, {"clamp_min", "i32"});
  expect_error([&] { swiglu(i, i); }, {"swiglu", "i32"});
  expect_error([] { swiglu(f64({1}), f64({1, 2})); }, {"swiglu", "[1]", "[2]"});
  expect_error([] { swiglu(f64({1}), Tensor::zeros({1})); }, {"swiglu", "f64", "f32"});
}

TEST(ElementwiseErrors, NameTheLayer) {
  const Scope outer(std::make_shared<const std::string>("layers.3"));
  {
    const Scope inner(std::make_shared<const std::string>("layers.3.attn"));
    expect_error(
        [] {
          f64({1, 2}) + f64({1, 2, 3});
        },
        {"add (in layers.3.attn): shapes [2] and [3]"});
  }
  expect_error([] { exp(ints({1}, {1})); }, {"exp (in layers.3): "});
}

}  // namespace
}  // namespace tapir
