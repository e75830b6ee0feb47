#include "backends/scalar_ops.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace tapir {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Function {
  UnaryOp op;
  double p;
  std::vector<double> points;  // inside the domain, away from kinks
};

const std::vector<Function>& functions() {
  const std::vector<double> all = {-20, -3.3, -1, -0.25, -1e-3, 1e-3, 0.4, 1, 2.7, 20};
  const std::vector<double> positive = {1e-3, 0.1, 0.4, 1, 2.7, 20, 300};
  static const std::vector<Function> table = {
      {UnaryOp::neg, 0, all},           {UnaryOp::abs, 0, all},
      {UnaryOp::exp, 0, all},           {UnaryOp::log, 0, positive},
      {UnaryOp::sqrt, 0, positive},     {UnaryOp::rsqrt, 0, positive},
      {UnaryOp::square, 0, all},        {UnaryOp::reciprocal, 0, all},
      {UnaryOp::sin, 0, all},           {UnaryOp::cos, 0, all},
      {UnaryOp::tanh, 0, all},          {UnaryOp::sigmoid, 0, all},
      {UnaryOp::relu, 0, all},          {UnaryOp::silu, 0, all},
      {UnaryOp::gelu, 0, all},          {UnaryOp::gelu_tanh, 0, all},
      {UnaryOp::erf, 0, all},           {UnaryOp::pow_scalar, 2.5, positive},
      {UnaryOp::pow_scalar, 3, all},    {UnaryOp::pow_scalar, -1, all},
      {UnaryOp::pow_scalar, 0, all},    {UnaryOp::add_scalar, 1.5, all},
      {UnaryOp::mul_scalar, -2.5, all}, {UnaryOp::clamp_min, 0.1, all},
  };
  return table;
}

double value(UnaryOp op, double x, double p) {
  return dispatch_unary(op, [&]<typename Op>() { return Op::value(x, p); });
}

// Gives the derivative only what `saves` says that it may read.
double derivative(UnaryOp op, double x, double p) {
  return dispatch_unary(op, [&]<typename Op>() {
    const double input = Op::kSaves == Saves::input ? x : kNan;
    const double output = Op::kSaves == Saves::output ? Op::value(x, p) : kNan;
    return Op::derivative(input, output, p);
  });
}

// Central differences err by h^2 f''' / 6 and by rounding, |f| 1e-16 / h: about 1e-10 for the
// functions here with h = 1e-5 |x|.
TEST(ScalarOps, DerivativesMatchDifferences) {
  for (const Function& f : functions()) {
    for (const double x : f.points) {
      const double h = 1e-5 * std::fabs(x);
      const double low = value(f.op, x - h, f.p), high = value(f.op, x + h, f.p);
      const double numeric = (high - low) / (2 * h);
      const double scale = std::max({std::fabs(numeric), std::fabs(high / x), 1e-12});
      EXPECT_NEAR(derivative(f.op, x, f.p), numeric, 1e-8 * scale)
          << "operation " << static_cast<int>(f.op) << " at " << x;
    }
  }
}

TEST(ScalarOps, EveryOperationIsInTheTable) {
  for (int op = 0; op <= static_cast<int>(UnaryOp::clamp_min); ++op) {
    bool found = false;
    for (const Function& f : functions()) found = found || static_cast<int>(f.op) == op;
    EXPECT_TRUE(found) << op;
  }
}

// f32 results within a few units in the last place of the f64 function of the same argument.
TEST(ScalarOps, F32AgreesWithF64) {
  for (const Function& f : functions()) {
    for (const double point : f.points) {
      const float x = static_cast<float>(point), p = static_cast<float>(f.p);
      const double expected = value(f.op, static_cast<double>(x), static_cast<double>(p));
      const float actual = dispatch_unary(f.op, [&]<typename Op>() { return Op::value(x, p); });
      // gelu(-20) = -20 Phi(-20) underflows in f32.
      EXPECT_NEAR(actual, expected, 1e-6 * std::fabs(expected) + 1e-7)
          << "operation " << static_cast<int>(f.op) << " at " << x;
    }
  }
}

// The distance of an f32 from a value, in spacings of f32 numbers there.
double ulps(float actual, double expected) {
  const float nearest = static_cast<float>(std::fabs(expected));
  const double spacing =
      static_cast<double>(std::nextafter(nearest, std::numeric_limits<float>::infinity())) -
      static_cast<double>(nearest);
  return std::fabs(static_cast<double>(actual) - expected) / spacing;
}

// The largest distance over half a million numbers of [low, high], and over both signs of a
// logarithmic grid near 0.
template <typename F32, typename F64>
double worst_ulps(double low, double high, F32 function, F64 exact) {
  double worst = 0;
  const auto check = [&](double point) {
    const float x = static_cast<float>(point);
    worst = std::max(worst, ulps(function(x), exact(static_cast<double>(x))));
  };
  for (double x = low; x < high; x += (high - low) / 5e5) check(x);
  for (double x = 1e-12; x < 1; x *= 1.0002) {
    check(x);
    check(-x);
  }
  return worst;
}

TEST(ScalarOps, F32FunctionsAreWithinTwoUlps) {
  const double exp = worst_ulps(
      -87.3, 88.7, [](float x) { return scalar::exp(x); }, [](double x) { return std::exp(x); });
  const double tanh = worst_ulps(
      -10, 10, [](float x) { return scalar::tanh(x); }, [](double x) { return std::tanh(x); });
  const double erf = worst_ulps(
      -5, 5, [](float x) { return scalar::erf(x); }, [](double x) { return std::erf(x); });
  for (const double worst : {exp, tanh, erf}) {
    EXPECT_LE(worst, 2.0);
    EXPECT_GT(worst, 0.5);  // else it would be correctly rounded, and this test suspect
  }
}

TEST(ScalarOps, ExpAtTheEnds) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(scalar::exp(0.0f), 1.0f);
  EXPECT_EQ(scalar::exp(-0.0f), 1.0f);
  EXPECT_EQ(scalar::exp(-infinity), 0.0f);
  EXPECT_EQ(scalar::exp(-1000.0f), 0.0f);
  EXPECT_EQ(scalar::exp(-87.34f), 0.0f);
  EXPECT_GT(scalar::exp(-87.33f), 0.0f);
  EXPECT_LT(scalar::exp(88.72f), infinity);
  EXPECT_EQ(scalar::exp(88.73f), infinity);
  EXPECT_EQ(scalar::exp(infinity), infinity);
  EXPECT_TRUE(std::isnan(scalar::exp(std::numeric_limits<float>::quiet_NaN())));
}

TEST(ScalarOps, TanhAndErfAtTheEnds) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float sign : {1.0f, -1.0f}) {
    EXPECT_EQ(scalar::tanh(sign * infinity), sign);
    EXPECT_EQ(scalar::erf(sign * infinity), sign);
    EXPECT_EQ(scalar::tanh(sign * 1e-30f), sign * 1e-30f);
    EXPECT_EQ(scalar::tanh(sign * 0.0f), 0.0f);
    EXPECT_EQ(scalar::erf(sign * 0.0f), 0.0f);
  }
}

template <typename T>
void check_extremes() {
  const T huge = T(1e30), infinity = std::numeric_limits<T>::infinity();
  EXPECT_EQ(Silu::value(-huge, T(0)), T(0));
  EXPECT_EQ(Silu::value(huge, T(0)), huge);
  EXPECT_EQ(Silu::derivative(-huge, T(0), T(0)), T(0));
  EXPECT_EQ(Silu::derivative(huge, T(0), T(0)), T(1));
  EXPECT_EQ(Sigmoid::value(-infinity, T(0)), T(0));
  EXPECT_EQ(Sigmoid::value(infinity, T(0)), T(1));
  EXPECT_EQ(Tanh::value(huge, T(0)), T(1));
  EXPECT_EQ(Tanh::value(-huge, T(0)), T(-1));
  EXPECT_EQ(Gelu::value(-huge, T(0)), T(0));
  EXPECT_EQ(Gelu::value(T(1000), T(0)), T(1000));
  EXPECT_EQ(GeluTanh::value(T(-1000), T(0)), T(0));
  EXPECT_EQ(GeluTanh::derivative(T(1000), T(0), T(0)), T(1));
  EXPECT_EQ(Relu::value(-infinity, T(0)), T(0));
  EXPECT_EQ(PowScalar::derivative(T(0), T(0), T(0)), T(0));  // x^0 is constant, also at 0
}

TEST(ScalarOps, ExtremesStayFinite) {
  check_extremes<float>();
  check_extremes<double>();
}

TEST(ScalarOps, NanPassesThrough) {
  for (const Function& f : functions()) {
    if (f.op == UnaryOp::pow_scalar && f.p == 0) continue;  // NaN^0 is 1
    EXPECT_TRUE(std::isnan(value(f.op, kNan, f.p))) << static_cast<int>(f.op);
  }
  for (const BinaryOp op : {BinaryOp::maximum, BinaryOp::minimum}) {
    EXPECT_TRUE(std::isnan(apply_binary(op, kNan, 1.0)));
    EXPECT_TRUE(std::isnan(apply_binary(op, 1.0, kNan)));
  }
}

TEST(ScalarOps, Binary) {
  EXPECT_EQ(apply_binary(BinaryOp::add, 3.0, 4.0), 7.0);
  EXPECT_EQ(apply_binary(BinaryOp::sub, 3.0, 4.0), -1.0);
  EXPECT_EQ(apply_binary(BinaryOp::mul, 3.0, 4.0), 12.0);
  EXPECT_EQ(apply_binary(BinaryOp::div, 3.0, 4.0), 0.75);
  EXPECT_EQ(apply_binary(BinaryOp::pow, 3.0, 4.0), 81.0);
  EXPECT_EQ(apply_binary(BinaryOp::maximum, 3.0, 4.0), 4.0);
  EXPECT_EQ(apply_binary(BinaryOp::minimum, 3.0, 4.0), 3.0);
  EXPECT_EQ(apply_binary(BinaryOp::maximum, kInfinity, -kInfinity), kInfinity);
}

TEST(ScalarOps, Compare) {
  const auto results = [](double a, double b) {
    std::string text;
    for (const CompareOp op :
         {CompareOp::eq, CompareOp::ne, CompareOp::lt, CompareOp::le, CompareOp::gt, CompareOp::ge})
      text += apply_compare(op, a, b) ? '1' : '0';
    return text;
  };
  EXPECT_EQ(results(1, 2), "011100");
  EXPECT_EQ(results(2, 2), "100101");
  EXPECT_EQ(results(3, 2), "010011");
  EXPECT_EQ(results(kNan, kNan), "010000");
}

}  // namespace
}  // namespace tapir
