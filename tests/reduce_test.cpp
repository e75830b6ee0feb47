// Reductions, scans, sorts and softmax: values by hand, limits of the dtypes, and every error.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "tests/support/expect_error.h"
#include "tests/support/tensors.h"

namespace tapir {
namespace {

using testing::bools;
using testing::counting;
using testing::Doubles;
using testing::expect_error;
using testing::expect_tensor;
using testing::f64;
using testing::ints;
using testing::leaf;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TEST(Sum, OverAxes) {
  const Tensor x = counting({2, 3, 2});
  expect_tensor(sum(x), {}, {66});
  expect_tensor(sum(x, {0}), {3, 2}, {6, 8, 10, 12, 14, 16});
  expect_tensor(sum(x, {-1, 0}, true), {1, 3, 1}, {14, 22, 30});
  expect_tensor(sum(x, {0, 1, 2}), {}, {66});
  expect_tensor(sum(transpose(x), {1}), {2, 3}, {1, 5, 9, 13, 17, 21});
  expect_tensor(sum(Tensor::zeros({2, 0})), {}, {0});
  expect_tensor(sum(Tensor::zeros({2, 0}), {1}), {2}, {0, 0});
  expect_tensor(sum(ints({2147483647, 1, -1}, {3})), {}, {2147483647});
  expect_tensor(sum(Tensor::scalar(3)), {}, {3});
  expect_error([&] { sum(x, {3}); }, {"sum", "axis 3"});
  expect_error([&] { sum(bools({1}, {1})); }, {"sum", "bool", "to()"});
}

TEST(Mean, AndVariance) {
  const Tensor x = f64({1, 2, 3, 4, 8, 9}, {2, 3});
  expect_tensor(mean(x), {}, {4.5});
  expect_tensor(mean(x, {1}, true), {2, 1}, {2, 7});
  expect_tensor(var(x, {1}), {2}, {1, 7});
  expect_tensor(var(f64({1, 3, 5, 9}, {2, 2}), {1}, false), {2}, {1, 4});
  expect_tensor(var(f64({5}), {}, false), {}, {0});
  expect_error([] { mean(Tensor::zeros({0, 3})); }, {"mean", "no elements", "[0, 3]"});
  expect_error([] { var(f64({1})); }, {"var", "[1]", "unbiased = false"});
  expect_error([] { var(Tensor::zeros({0}), {}, false); }, {"var", "[0]"});
  expect_error([] { mean(ints({1}, {1})); }, {"mean", "i32"});
  expect_error([] { var(ints({1}, {1})); }, {"var", "i32"});
}

// A mean far from zero: E[x^2] - E[x]^2 would lose every digit in f32.
TEST(Mean, VarianceIsStableFarFromZero) {
  const Tensor x = Tensor::from({10001, 10002, 10003}, {3});
  EXPECT_NEAR(var(x).item(), 1, 1e-6);
}

// Intermediate sums leave the range of f16 (65504), and in bf16 they would stop growing at 256.
TEST(Mean, SixteenBitFloatsAreReducedInF32) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    SCOPED_TRACE(name_of(dtype));
    const Tensor x = Tensor::full({1000}, 300, dtype);
    EXPECT_EQ(mean(x).item(), 300);
    EXPECT_EQ(var(x).item(), 0);
    EXPECT_EQ(mean(x).dtype(), dtype);
    const Tensor y = Tensor::from({300, 0}, {2}, DType::bf16);
    EXPECT_EQ(var(y).item(), 45056);  // 45000 in bf16
    // log(1000 e^3) rounds once.
    const double expected = Tensor::from({3 + std::log(1000.0)}, {1}, dtype).item();
    EXPECT_EQ(logsumexp(Tensor::full({1000}, 3, dtype), 0).item(), expected);
    EXPECT_EQ(sum(Tensor::ones({1024}, dtype)).item(), 1024);
    expect_tensor(slice(cumsum(Tensor::ones({1024}, dtype), 0), 0, 1023, 1024), {1}, {1024});
  }
}

TEST(Max, AndArgmax) {
  const Tensor x = f64({1, 5, 5, 9, -2, 0}, {2, 3});
  expect_tensor(max(x, 1), {2}, {5, 9});
  expect_tensor(max(x, 0, true), {1, 3}, {9, 5, 5});
  expect_tensor(argmax(x, 1), {2}, {1, 0});
  expect_tensor(argmax(x, 0, true), {1, 3}, {1, 0, 0});
  EXPECT_EQ(argmax(x, 1).dtype(), DType::i32);
  EXPECT_EQ(argmax(f64({1, kNaN, 3, kNaN}), 0).item(), 1);  // the first NaN counts as largest
  EXPECT_TRUE(std::isnan(max(f64({1, kNaN, 3}), 0).item()));
  EXPECT_EQ(max(f64({-kInfinity, -kInfinity}), 0).item(), -kInfinity);
  for (const auto function : {max, argmax}) {
    const std::string op = function == max ? "max" : "argmax";
    expect_error([&] { function(Tensor::zeros({2, 0}), 1, false); }, {op, "axis 1", "[2, 0]"});
    expect_error([&] { function(x, 2, false); }, {op, "axis 2"});
    expect_error([&] { function(ints({1}, {1}), 0, false); }, {op, "i32"});
    expect_error([&] { function(Tensor::scalar(1), 0, false); }, {op, "0 dimensions"});
  }
}

TEST(Logsumexp, KeepsInfinities) {
  EXPECT_EQ(logsumexp(f64({-kInfinity, -kInfinity}), 0).item(), -kInfinity);
  EXPECT_EQ(logsumexp(f64({kInfinity, 1}), 0).item(), kInfinity);
  EXPECT_EQ(logsumexp(f64({1000, -kInfinity}), 0).item(), 1000);
  const Tensor x = leaf({-kInfinity, -kInfinity});
  Tape tape;
  tape.backward(logsumexp(x, 0));
  expect_tensor(x.grad(), {2}, {0, 0});
  expect_error([] { logsumexp(Tensor::zeros({2, 0}), 1); }, {"logsumexp", "[2, 0]"});
  expect_error([] { logsumexp(ints({1}, {1}), 0); }, {"logsumexp", "i32"});
  expect_error([] { logsumexp(f64({1}), 1); }, {"logsumexp", "axis 1"});
}

TEST(Cumsum, RunsAlongAnAxis) {
  const Tensor x = counting({2, 3});
  expect_tensor(cumsum(x, 1), {2, 3}, {0, 1, 3, 3, 7, 12});
  expect_tensor(cumsum(x, 0), {2, 3}, {0, 1, 2, 3, 5, 7});
  expect_tensor(cumsum(Tensor::zeros({0}), 0), {0}, {});
  expect_error([&] { cumsum(x, 2); }, {"cumsum", "axis 2"});
  expect_error([] { cumsum(Tensor::scalar(1), 0); }, {"cumsum", "0 dimensions"});
  expect_error([] { cumsum(ints({1}, {1}), 0); }, {"cumsum", "i32"});
}

TEST(Sort, IsStableAndPutsNaNLast) {
  const auto [values, index] = sort(f64({2, kNaN, 1, 2, -kInfinity}));
  EXPECT_EQ(index.to_ints(), (std::vector<int32_t>{4, 2, 0, 3, 1}));
  EXPECT_EQ(values.to_vector()[0], -kInfinity);
  EXPECT_TRUE(std::isnan(values.to_vector()[4]));
  const auto down = sort(f64({2, 1, 2, 3}, {2, 2}), 0, true);
  expect_tensor(down.first, {2, 2}, {2, 3, 2, 1});
  expect_tensor(down.second, {2, 2}, {0, 1, 1, 0});
  expect_tensor(sort(Tensor::zeros({3, 0})).first, {3, 0}, {});
  const auto top = topk(f64({5, 9, 7}), 2);
  expect_tensor(top.first, {2}, {9, 7});
  expect_tensor(top.second, {2}, {1, 2});
  expect_tensor(topk(f64({5}), 0).first, {0}, {});
  expect_error([] { topk(f64({5}), 2); }, {"topk", "k = 2", "[1]"});
  expect_error([] { topk(f64({5}), -1); }, {"topk", "k = -1"});
  expect_error([] { sort(ints({1}, {1})); }, {"sort", "i32"});
  expect_error([] { sort(Tensor::scalar(1)); }, {"sort", "axis -1"});
}

TEST(Softmax, OfRowsWithoutFiniteElements) {
  const Tensor x = leaf({-kInfinity, -kInfinity, 1, 1}, {2, 2});
  Tape tape;
  const Tensor y = softmax(x);
  expect_tensor(y, {2, 2}, {0, 0, 0.5, 0.5});
  tape.backward(y, f64({1, 2, 3, 5}, {2, 2}));
  expect_tensor(x.grad(), {2, 2}, {0, 0, -0.5, 0.5});
  expect_tensor(log_softmax(f64({-kInfinity, -kInfinity})), {2}, {-kInfinity, -kInfinity});
  EXPECT_TRUE(std::isnan(softmax(f64({kNaN, 1})).to_vector()[0]));
  expect_tensor(softmax(Tensor::scalar(7)), {}, {1});
  expect_tensor(softmax(Tensor::zeros({2, 0})), {2, 0}, {});
  expect_error([] { softmax(f64({1}), 1); }, {"softmax", "axis 1"});
  expect_error([] { softmax(ints({1}, {1})); }, {"softmax", "i32"});
  expect_error([] { log_softmax(ints({1}, {1})); }, {"log_softmax", "i32"});
}

TEST(Softmax, OfHugeValuesInEveryDType) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    SCOPED_TRACE(name_of(dtype));
    const Tensor x = Tensor::from({60000, 60000, -60000}, {3}, dtype);
    expect_tensor(softmax(x), {3}, {0.5, 0.5, 0});
    EXPECT_NEAR(log_softmax(x).to_vector()[0], -std::log(2.0), 2e-3);  // f16 and bf16 round
  }
}

}  // namespace
}  // namespace tapir
