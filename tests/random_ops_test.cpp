// Random tensors, dropout and sampling: what a Generator promises, moments within stated bounds,
// and every error. The bits themselves are checked in philox_test.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "backends/cpu/threads.h"
#include "tests/support/expect_error.h"
#include "tests/support/tensors.h"

namespace tapir {
namespace {

using testing::bits_of;
using testing::Doubles;
using testing::expect_error;
using testing::expect_tensor;
using testing::f64;
using testing::ints;
using testing::leaf;

TEST(GeneratorState, ReservesBlocksOfFourWords) {
  Generator generator(7);
  EXPECT_EQ(generator.reserve(0), 0u);
  EXPECT_EQ(generator.reserve(1), 0u);
  EXPECT_EQ(generator.reserve(4), 1u);
  EXPECT_EQ(generator.reserve(5), 2u);
  EXPECT_EQ(generator.offset(), 4u);
  EXPECT_EQ(generator.seed(), 7u);
}

TEST(GeneratorState, TheSameStateGivesTheSameNumbers) {
  Generator a(3), b(3), c(4);
  const Tensor first = rand({5}, a);
  EXPECT_EQ(bits_of(first), bits_of(rand({5}, b)));
  EXPECT_NE(bits_of(first), bits_of(rand({5}, c)));
  EXPECT_NE(bits_of(first), bits_of(rand({5}, a)));  // the next ones
  EXPECT_NE(a, b);
  Generator restored(a.seed(), a.offset());
  EXPECT_EQ(restored, a);
  EXPECT_EQ(bits_of(randn({7}, restored)), bits_of(randn({7}, a)));
}

TEST(GeneratorState, HostNumbersStayInRange) {
  Generator generator(1);
  std::vector<int> counts(3);
  double total = 0;
  constexpr int kDraws = 30'000;
  for (int i = 0; i < kDraws; ++i) {
    const double u = generator.uniform();
    ASSERT_TRUE(u >= 0 && u < 1);
    total += u;
    ++counts.at(generator.below(3));
  }
  // Five standard deviations: sqrt(1/12 / n) of the mean, sqrt(n 2/9) of a count.
  EXPECT_NEAR(total / kDraws, 0.5, 5 * std::sqrt(1.0 / 12 / kDraws));
  for (const int count : counts) EXPECT_NEAR(count, kDraws / 3, 5 * std::sqrt(kDraws * 2.0 / 9));
  EXPECT_EQ(generator.below(1), 0u);
  EXPECT_GE(generator.below(uint64_t{1} << 63), 0u);
}

struct Moments {
  double mean, variance, smallest, largest;
};

Moments moments_of(const Tensor& x) {
  const Doubles values = x.to_vector();
  const auto n = static_cast<double>(values.size());
  Moments result{0, 0, *std::min_element(values.begin(), values.end()),
                 *std::max_element(values.begin(), values.end())};
  for (const double value : values) result.mean += value / n;
  for (const double value : values) result.variance += std::pow(value - result.mean, 2) / n;
  return result;
}

constexpr int64_t kCount = 100'000;

// Bounds are five standard errors: sqrt(var / n) of a mean, sqrt((m4 - var^2) / n) of a variance.
TEST(RandomTensors, HaveTheMomentsOfTheirDistribution) {
  Generator generator(2024);
  const Moments uniform = moments_of(rand({kCount}, generator));
  EXPECT_NEAR(uniform.mean, 0.5, 5 * std::sqrt(1.0 / 12 / kCount));
  EXPECT_NEAR(uniform.variance, 1.0 / 12, 5 * std::sqrt(1.0 / 180 / kCount));
  EXPECT_GE(uniform.smallest, 0);
  EXPECT_LT(uniform.largest, 1);
  const Moments normal = moments_of(randn({kCount}, generator));
  EXPECT_NEAR(normal.mean, 0, 5 * std::sqrt(1.0 / kCount));
  EXPECT_NEAR(normal.variance, 1, 5 * std::sqrt(2.0 / kCount));
  EXPECT_GT(normal.largest, 3.5);  // of 1e5 draws, all but surely
  // Cut at b: the variance is 1 - 2 b phi(b) / (2 Phi(b) - 1).
  for (const double bound : {0.5, 2.0, 3.0}) {
    SCOPED_TRACE(bound);
    const double density = std::exp(-bound * bound / 2) / std::sqrt(2 * M_PI);
    const double variance = 1 - 2 * bound * density / std::erf(bound / std::sqrt(2.0));
    const Moments cut = moments_of(trunc_normal({kCount}, 0.02, bound, generator));
    EXPECT_NEAR(cut.mean, 0, 0.02 * 5 * std::sqrt(variance / kCount));
    EXPECT_NEAR(cut.variance / 0.0004, variance, 5 * std::sqrt(2.0 / kCount));
    EXPECT_LE(std::max(-cut.smallest, cut.largest), 0.02 * bound * (1 + 1e-6));
  }
}

TEST(RandomTensors, HoldTheSameNumbersInEveryDType) {
  for (const auto kind : {0, 1, 2}) {
    const auto draw = [&](DType dtype) {
      Generator generator(9, 5);
      const Shape shape{3, 7};
      return kind == 0   ? rand(shape, generator, dtype)
             : kind == 1 ? randn(shape, generator, dtype)
                         : trunc_normal(shape, 1, 2, generator, dtype);
    };
    for (const DType dtype : {DType::f32, DType::bf16, DType::f16}) {
      EXPECT_EQ(bits_of(draw(dtype)), bits_of(to(draw(DType::f64), dtype))) << name_of(dtype);
    }
  }
}

TEST(RandomTensors, DependOnNeitherShapeNorThreads) {
  const int before = cpu::threads();
  Generator first(1), second(1);
  const Tensor flat = randn({100'000}, first);
  cpu::set_threads(3);
  const Tensor square = randn({100, 1000}, second);
  cpu::set_threads(before);
  EXPECT_EQ(bits_of(flat), bits_of(square));
  EXPECT_EQ(first, second);
}

TEST(RandomTensors, AreNotRecordedAndMayBeEmpty) {
  Tape tape;
  Generator generator(1);
  EXPECT_FALSE(trunc_normal({3}, 1, 2, generator).requires_grad());
  expect_tensor(rand({0, 2}, generator), {0, 2}, {});
  expect_tensor(trunc_normal({2}, 0, 2, generator), {2}, {0, 0});
  EXPECT_EQ(tape.size(), 0u);
}

TEST(RandomTensors, Errors) {
  Generator generator(1);
  expect_error([&] { rand({1}, generator, DType::i32); }, {"rand:", "floating", "i32"});
  expect_error([&] { randn({1}, generator, DType::boolean); }, {"randn:", "bool"});
  expect_error([&] { trunc_normal({1}, 1, 1, generator, DType::i32); }, {"trunc_normal:", "i32"});
  expect_error([&] { trunc_normal({1}, -1, 1, generator); }, {"trunc_normal", "std -1"});
  expect_error([&] { trunc_normal({1}, 1, 0, generator); }, {"trunc_normal", "bound 0"});
  expect_error([&] { trunc_normal({1}, std::nan(""), 1, generator); }, {"trunc_normal", "nan"});
  expect_error([&] { trunc_normal({1}, 1, std::nan(""), generator); }, {"trunc_normal", "nan"});
  expect_error([&] { rand({-1}, generator); }, {"[-1]"});
  EXPECT_EQ(generator.offset(), 0u);  // none of these drew anything
}

TEST(Dropout, KeepsTheExpectedShareAndScalesIt) {
  Generator generator(5);
  const Tensor y = dropout(Tensor::ones({kCount}, DType::f64), 0.3, generator);
  const Doubles values = y.to_vector();
  const std::set<double> distinct(values.begin(), values.end());
  EXPECT_EQ(distinct, (std::set<double>{0, 1 / (1 - 0.3)}));
  const auto kept = std::count_if(values.begin(), values.end(), [](double v) { return v != 0; });
  // Five standard deviations of a binomial count.
  EXPECT_NEAR(static_cast<double>(kept), 0.7 * kCount, 5 * std::sqrt(0.7 * 0.3 * kCount));
}

TEST(Dropout, TheGradientHasTheSameMask) {
  Generator generator(5);
  const Tensor x = Tensor::ones({1000}, DType::f64).set_requires_grad();
  Tape tape;
  const Tensor y = dropout(x, 0.5, generator);
  tape.backward(sum(y));
  EXPECT_EQ(bits_of(x.grad()), bits_of(y));  // both are 0 or 2
}

TEST(Dropout, TheMaskDependsOnlyOnTheGenerator) {
  const int before = cpu::threads();
  const Tensor x = Tensor::ones({64, 1000});
  std::set<std::vector<uint64_t>> results;
  for (const int threads : {1, 2, 3, 8}) {
    cpu::set_threads(threads);
    Generator generator(5);
    results.insert(bits_of(dropout(x, 0.2, generator)));
  }
  cpu::set_threads(before);
  EXPECT_EQ(results.size(), 1u);
  // Strided input: element i of the result is governed by word i all the same.
  Generator first(5), second(5);
  const Tensor square = Tensor::ones({8, 8});
  EXPECT_EQ(bits_of(dropout(transpose(square), 0.5, first)), bits_of(dropout(square, 0.5, second)));
}

TEST(Dropout, Limits) {
  Generator generator(5);
  const Tensor x = leaf({1, -2});
  EXPECT_TRUE(dropout(x, 0, generator).is(x));
  EXPECT_EQ(generator.offset(), 0u);
  Tape tape;
  const Tensor y = dropout(x, 1, generator);
  expect_tensor(y, {2}, {0, 0});
  tape.backward(sum(y));
  expect_tensor(x.grad(), {2}, {0, 0});
  expect_error([&] { dropout(x, 1.5, generator); }, {"dropout", "1.5", "[0, 1]"});
  expect_error([&] { dropout(x, -0.1, generator); }, {"dropout", "-0.1"});
  expect_error([&] { dropout(x, std::nan(""), generator); }, {"dropout", "nan"});
  expect_error([&] { dropout(ints({1}, {1}), 0.5, generator); }, {"dropout", "i32"});
}

TEST(Multinomial, FollowsTheProbabilities) {
  Generator generator(77);
  // Two rows that need not sum to 1; the second has zeros at its ends.
  const Tensor p = f64({1, 2, 5, 0, 0, 3, 1, 0}, {2, 4});
  const Tensor drawn = multinomial(p, kCount, generator);
  EXPECT_EQ(drawn.dtype(), DType::i32);
  EXPECT_EQ(drawn.shape(), (Shape{2, kCount}));
  const std::vector<int32_t> ids = drawn.to_ints();
  const double expected[2][4] = {{0.125, 0.25, 0.625, 0}, {0, 0.75, 0.25, 0}};
  for (size_t row = 0; row < 2; ++row) {
    for (int32_t id = 0; id < 4; ++id) {
      const auto begin = ids.begin() + static_cast<ptrdiff_t>(row) * kCount;
      const auto count = static_cast<double>(std::count(begin, begin + kCount, id));
      const double share = expected[row][id];
      EXPECT_NEAR(count, share * kCount, 5 * std::sqrt(share * (1 - share) * kCount));
    }
  }
}

TEST(Multinomial, EdgesOfProbability) {
  Generator generator(1);
  const Tensor certain = f64({0, 0, 1e-300, 0});
  expect_tensor(multinomial(certain, 3, generator), {3}, {2, 2, 2});
  // The smallest number there is: products with u round to it or to zero.
  const Tensor tiny = f64({0, 5e-324, 0});
  expect_tensor(multinomial(tiny, 8, generator), {8}, Doubles(8, 1));
  expect_tensor(multinomial(Tensor::ones({2, 1}, DType::bf16), 2, generator), {2, 2}, {0, 0, 0, 0});
  expect_tensor(multinomial(f64({1}), 0, generator), {0}, {});
  expect_tensor(multinomial(Tensor::zeros({0, 3}), 2, generator), {0, 2}, {});
}

TEST(Multinomial, Errors) {
  Generator generator(1);
  const auto refuses = [&](const Doubles& p, const std::vector<std::string>& parts) {
    expect_error([&] { multinomial(f64(p), 1, generator); }, parts);
  };
  refuses({0.5, -0.1}, {"multinomial", "probability 1 of row 0 is -0.1"});
  refuses({0.5, std::nan("")}, {"multinomial", "probability 1", "nan"});
  refuses({std::numeric_limits<double>::infinity()}, {"multinomial", "probability 0", "inf"});
  refuses({0, 0}, {"multinomial", "row 0", "zero"});
  refuses({1e308, 1e308}, {"multinomial", "row 0", "add up to inf"});
  expect_error(
      [&] {
        multinomial(f64({1, 0, 0, 0}, {2, 2}), 1, generator);
      },
      {"all probabilities of row 1 are zero"});
  expect_error(
      [&] {
        multinomial(Tensor::zeros({2, 0}), 1, generator);
      },
      {"multinomial", "[2, 0]"});
  expect_error([&] { multinomial(Tensor::scalar(1), 1, generator); }, {"multinomial", "[]"});
  expect_error([&] { multinomial(ints({1}, {1}), 1, generator); }, {"multinomial", "i32"});
  expect_error([&] { multinomial(f64({1}), -1, generator); }, {"multinomial", "count is -1"});
}

}  // namespace
}  // namespace tapir
