// Anomaly mode: the first value that is not finite stops the program, and the message says where.
#include "autograd/anomaly.h"

#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "tests/support/expect_error.h"
#include "tests/support/tensors.h"

namespace tapir {
namespace {

using testing::bools;
using testing::expect_error;
using testing::f64;
using testing::leaf;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class Anomaly : public ::testing::Test {
 protected:
  ~Anomaly() override { DetectAnomaly::set_step(-1); }
};

TEST_F(Anomaly, IsOffUnlessAskedFor) {
  EXPECT_FALSE(DetectAnomaly::enabled());
  EXPECT_EQ(log(f64({0})).item(), -kInfinity);
  {
    const DetectAnomaly guard;
    EXPECT_TRUE(DetectAnomaly::enabled());
    {
      const DetectAnomaly off(false);
      EXPECT_EQ(log(f64({0})).item(), -kInfinity);
    }
    EXPECT_TRUE(DetectAnomaly::enabled());
  }
  EXPECT_FALSE(DetectAnomaly::enabled());
}

TEST_F(Anomaly, ForwardNamesOperationLayerShapeAndStep) {
  const DetectAnomaly guard;
  DetectAnomaly::set_step(17);
  EXPECT_EQ(DetectAnomaly::step(), 17);
  const Scope scope(std::make_shared<const std::string>("layers.2.ffn"));
  const Tensor x = f64({0, 1, -1, 4}, {2, 2});
  expect_error([&] { log(x); }, {"log (in layers.2.ffn): anomaly", "2 of 4 values", "output [2, 2]",
                                 "NaN or infinite", "at step 17"});
  expect_error([&] { exp(f64({1000})); }, {"exp", "1 of 1"});
  DetectAnomaly::set_step(-1);
  try {
    log(x);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find("step"), std::string::npos);
  }
}

TEST_F(Anomaly, ForwardIsCheckedOnATapeToo) {
  const DetectAnomaly guard;
  const Tensor x = leaf({0});
  Tape tape;
  expect_error([&] { rsqrt(x); }, {"rsqrt", "anomaly"});
  EXPECT_EQ(tape.size(), 0u);
}

TEST_F(Anomaly, BackwardNamesOperationInputAndLayer) {
  const Tensor x = leaf({0, 4}), y = leaf({1, 1});
  const DetectAnomaly guard;
  DetectAnomaly::set_step(3);
  Tape tape;
  Tensor out;
  {
    const Scope scope(std::make_shared<const std::string>("layers.5.attn"));
    out = y * sqrt(x);  // finite, but the slope of the root at 0 is not
  }
  expect_error([&] { tape.backward(sum(out)); },
               {"sqrt (in layers.5.attn): anomaly", "1 of 2 values", "gradient of input 0", "[2]",
                "at step 3"});
  EXPECT_FALSE(x.grad().defined());
}

TEST_F(Anomaly, InsideACheckpointTheRerunIsChecked) {
  const Tensor x = leaf({0});
  int calls = 0;
  const DetectAnomaly guard;
  Tape tape;
  // The second run meets a value that the first did not.
  const Tensor y = checkpoint(
      [&](const std::vector<Tensor>& in) { return ++calls == 1 ? in[0] * 1.0 : log(in[0]); }, {x});
  expect_error([&] { tape.backward(y); }, {"log", "output"});
}

// Values that a gradient function makes and masks are its own affair; what it returns counts.
TEST_F(Anomaly, MaskedValuesInsideAGradientAreFine) {
  const Tensor base = leaf({0, 2}), exponent = leaf({0, 3});
  const DetectAnomaly guard;
  Tape tape;
  tape.backward(sum(pow(base, exponent)));  // log(0) is masked
  EXPECT_EQ(base.grad().to_vector()[1], 12);
}

TEST_F(Anomaly, IntegersAndBoolsAreNotChecked) {
  const DetectAnomaly guard;
  EXPECT_EQ(Tensor::arange(3).numel(), 3);
  EXPECT_EQ(gt(f64({1}), f64({0})).item(), 1);
  EXPECT_EQ(transpose(Tensor::ones({2, 3})).numel(), 6);
}

TEST_F(Anomaly, IsPerThread) {
  const DetectAnomaly guard;
  std::thread([] { EXPECT_EQ(log(f64({0})).item(), -kInfinity); }).join();
}

}  // namespace
}  // namespace tapir
