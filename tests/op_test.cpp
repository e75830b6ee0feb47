// Every check that every operation must pass, run over the one table of cases.
#include <cmath>
#include <fstream>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "autograd/gradcheck.h"
#include "autograd/op_cases.h"
#include "autograd/ops.h"
#include "tests/support/op_case_run.h"

namespace tapir {
namespace {

using testing::case_name;
using testing::Result;
using testing::run;

double largest(const Tensor& x) {
  double value = 0;
  for (double element : x.to_vector()) value = std::max(value, std::fabs(element));
  return value;
}

// The largest difference, relative to the largest element where that exceeds 1.
double distance(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.shape(), b.shape());
  const std::vector<double> x = a.to_vector(), y = b.to_vector();
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double gap = x[i] == y[i] ? 0 : std::fabs(x[i] - y[i]);
    if (!(gap <= worst)) worst = gap;  // keeps a NaN
  }
  return worst / std::max(1.0, largest(b));
}

void expect_close(const Result& actual, const Result& expected, double tolerance) {
  EXPECT_LE(distance(actual.output, expected.output), tolerance) << "output";
  ASSERT_TRUE(expected.grads.empty() || actual.grads.size() == expected.grads.size());
  for (size_t i = 0; i < expected.grads.size(); ++i) {
    EXPECT_LE(distance(actual.grads[i], expected.grads[i]), tolerance) << "gradient of input " << i;
  }
}

// The same values seen through strides: the last two axes swapped in memory, and every second
// element of a larger block.
Tensor strided_copy(const Tensor& x) {
  NoGrad pause;
  Tensor block = x.rank() >= 2 ? transpose(clone(transpose(x))) : x;
  Shape twice = block.shape();
  if (twice.rank() > 0) twice[0] *= 2;
  Tensor wide = Tensor::full(twice, 7.0, x.dtype(), x.device());
  if (x.rank() >= 2) wide = transpose(clone(transpose(wide)));
  Tensor view = x.rank() > 0 ? slice(wide, 0, 0, twice[0], 2) : detach(clone(x));
  view.copy_(block);
  return view.set_requires_grad();
}

class OpTest : public ::testing::TestWithParam<size_t> {
 protected:
  const OpCase& op_case() const { return op_cases()[GetParam()]; }
  std::vector<Tensor> inputs(DType dtype) const { return make_inputs(op_case(), 5, dtype); }
};

TEST_P(OpTest, MatchesTheReference) {
  if (!op_case().reference)
    GTEST_SKIP() << "no composed reference; checked against PyTorch and by hand";
  const Result expected = run(op_case().reference, inputs(DType::f64));
  // Both sides round differently; sums of 10^4 terms of size 1 stay below 1e-12.
  expect_close(run(op_case().run, inputs(DType::f64)), expected, 1e-12);
}

TEST_P(OpTest, GradientMatchesDifferences) {
  GradcheckOptions options;
  options.max_elements = 60;
  const GradcheckReport report = gradcheck(op_case().run, inputs(DType::f64), options);
  EXPECT_TRUE(report.passed()) << report.to_string();
}

// Much weaker, but what `tapir gradcheck --dtype f32` shows to users must pass too.
TEST_P(OpTest, GradientMatchesDifferencesInF32) {
  GradcheckOptions options = GradcheckOptions::for_f32();
  options.max_elements = 20;
  const GradcheckReport report = gradcheck(op_case().run, inputs(DType::f32), options);
  EXPECT_TRUE(report.passed()) << report.to_string();
}

TEST_P(OpTest, F32AgreesWithF64) {
  // 2^-24 times the length of the longest sum here, about 600, taken as a random walk, with room.
  expect_close(run(op_case().run, inputs(DType::f32)), run(op_case().run, inputs(DType::f64)),
               2e-5);
}

// A 16-bit result may be off by its own rounding of inputs, intermediate steps and output: a few
// units of 2^-8 (bf16) or 2^-11 (f16), relative to the largest element.
TEST_P(OpTest, HalfPrecisionAgreesWithF64) {
  if (op_case().op == "sort" || op_case().op == "topk" || op_case().op == "max") {
    GTEST_SKIP() << "rounding may reorder near-equal elements";
  }
  for (const auto& [dtype, tolerance] :
       {std::pair{DType::bf16, 0.06}, std::pair{DType::f16, 0.01}}) {
    const auto rounded = inputs(dtype);
    std::vector<Tensor> wide;  // exactly the rounded values, so that only the arithmetic differs
    for (const Tensor& x : rounded) wide.push_back(to(detach(x), DType::f64).set_requires_grad());
    SCOPED_TRACE(name_of(dtype));
    expect_close(run(op_case().run, rounded), run(op_case().run, wide), tolerance);
  }
}

TEST_P(OpTest, StridedInputsGiveTheSame) {
  std::vector<Tensor> strided;
  for (const Tensor& x : inputs(DType::f64)) strided.push_back(strided_copy(x));
  expect_close(run(op_case().run, strided), run(op_case().run, inputs(DType::f64)), 1e-13);
}

TEST_P(OpTest, RecordsNothingWithoutRequiresGrad) {
  std::vector<Tensor> constants;
  for (const Tensor& x : inputs(DType::f64)) constants.push_back(detach(x));
  Tape tape;
  const Tensor output = op_case().run(constants);
  // A checkpoint cannot know what its function captures, so it is always recorded.
  if (op_case().op != "checkpoint") {
    EXPECT_FALSE(output.requires_grad());
    EXPECT_EQ(tape.size(), 0u);
  }
  EXPECT_LE(distance(output, run(op_case().run, inputs(DType::f64)).output), 0.0);
}

INSTANTIATE_TEST_SUITE_P(Table, OpTest, ::testing::Range<size_t>(0, op_cases().size()), case_name);

// Keeps docs/adding_an_op.md honest: an operation that ops.h declares has a case, or stands in the
// list of those without a gradient, which have tests of their own.
TEST(OpTable, CoversEveryOperationOfTheHeader) {
  const std::set<std::string> without_gradient = {
      "eq",     "ne",     "lt",   "le",    "gt",           "ge",         "logical_not",
      "argmax", "detach", "rand", "randn", "trunc_normal", "multinomial"};
  std::set<std::string> covered = without_gradient;
  for (const OpCase& op_case : op_cases()) covered.insert(op_case.op);
  std::ifstream header(std::string(TAPIR_SOURCE_DIR) + "/autograd/ops.h");
  ASSERT_TRUE(header.good());
  const std::regex declaration(
      R"(^(?:Tensor|std::pair<Tensor, Tensor>|std::vector<Tensor>) (\w+)\()");
  int found = 0;
  for (std::string line; std::getline(header, line);) {
    std::smatch match;
    if (!std::regex_search(line, match, declaration)) continue;
    ++found;
    EXPECT_TRUE(covered.count(match[1])) << match[1] << " of autograd/ops.h has no case";
  }
  EXPECT_GT(found, 60);
}

}  // namespace
}  // namespace tapir
