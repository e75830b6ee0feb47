// Activation checkpointing: the gradients of a plain pass, bit for bit, for less memory.
#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "tests/support/expect_error.h"
#include "tests/support/tensors.h"

namespace tapir {
namespace {

using testing::bits_of;
using testing::expect_error;
using testing::f64;
using testing::leaf;

using Inputs = std::vector<Tensor>;

Tensor random_leaf(const Shape& shape, uint64_t seed, DType dtype = DType::f64) {
  Generator generator(seed);
  return randn(shape, generator, dtype).set_requires_grad();
}

struct Block {
  Tensor weight = random_leaf({8, 8}, 1), gain = random_leaf({8}, 2);

  Tensor operator()(const Tensor& x, Generator* generator = nullptr) const {
    Tensor y = rms_norm(gelu(linear(x, weight)), gain);
    if (generator) y = dropout(y, 0.4, *generator);
    return y + x;
  }
  void zero_grad() const {
    weight.zero_grad();
    gain.zero_grad();
  }
};

// Loss and gradients of three blocks, as bits.
std::vector<std::vector<uint64_t>> train(bool checkpointed, bool with_dropout) {
  const Block block;  // one block used three times: its gradient adds up over the reruns
  Generator generator(5);
  Generator* source = with_dropout ? &generator : nullptr;
  const Tensor input = random_leaf({4, 8}, 3);
  Tape tape;
  Tensor x = input;
  for (int i = 0; i < 3; ++i) {
    const auto run = [&](const Inputs& in) { return block(in[0], source); };
    x = checkpointed ? checkpoint(run, {x}, source) : run({x});
  }
  const Tensor loss = sum(square(x));
  tape.backward(loss);
  const Tensor state =
      f64({static_cast<double>(generator.seed()), static_cast<double>(generator.offset())});
  return {bits_of(loss), bits_of(input.grad()), bits_of(block.weight.grad()),
          bits_of(block.gain.grad()), bits_of(state)};
}

TEST(Checkpoint, GivesTheSameBits) {
  EXPECT_EQ(train(true, false), train(false, false));
}

TEST(Checkpoint, RewindsTheGenerator) {
  EXPECT_EQ(train(true, true), train(false, true));
  EXPECT_NE(train(true, true), train(true, false));
}

TEST(Checkpoint, SeveralInputsSomeWithoutGradient) {
  const Tensor a = leaf({1, 2}), b = leaf({3, 4}), constant = f64({5, 6});
  const auto run = [](const Inputs& in) { return in[0] * in[1] * in[2]; };
  Tape tape;
  tape.backward(sum(checkpoint(run, {a, constant, b})));
  testing::expect_tensor(a.grad(), {2}, {15, 24});
  testing::expect_tensor(b.grad(), {2}, {5, 12});
  EXPECT_FALSE(constant.grad().defined());
}

TEST(Checkpoint, OnlyCapturedParametersNeedAGradient) {
  const Tensor weight = leaf({2});
  Tape tape;
  tape.backward(checkpoint([&](const Inputs& in) { return in[0] * weight; }, {f64({7})}));
  EXPECT_EQ(weight.grad().item(), 7);
}

TEST(Checkpoint, AFunctionWithoutGradientGivesNone) {
  const Tensor x = leaf({2});
  Tape tape;
  const Tensor y = checkpoint([](const Inputs& in) { return detach(in[0]) * 2.0; }, {x});
  tape.backward(y + x);
  EXPECT_EQ(x.grad().item(), 1);
}

TEST(Checkpoint, Nests) {
  const Tensor x = leaf({2});
  const auto inner = [](const Inputs& in) { return in[0] * in[0]; };
  const auto outer = [&](const Inputs& in) { return checkpoint(inner, {in[0]}) * in[0]; };
  Tape tape;
  tape.backward(checkpoint(outer, {x}));
  EXPECT_EQ(x.grad().item(), 12);
}

TEST(Checkpoint, OutsideATapeItIsTheFunction) {
  const Tensor x = leaf({3});
  int calls = 0;
  const auto run = [&](const Inputs& in) {
    ++calls;
    return in[0] * 2.0;
  };
  EXPECT_EQ(checkpoint(run, {x}).item(), 6);
  Tape tape;
  NoGrad pause;
  EXPECT_FALSE(checkpoint(run, {x}).requires_grad());
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(tape.size(), 0u);
}

TEST(Checkpoint, IsOneNodeThatRunsTheFunctionTwice) {
  const Tensor x = leaf({3});
  int calls = 0;
  Tape tape;
  const Tensor y = checkpoint(
      [&](const Inputs& in) {
        ++calls;
        return exp(sin(in[0]));
      },
      {x});
  EXPECT_EQ(tape.size(), 1u);
  EXPECT_EQ(tape.info(0).op, "checkpoint");
  tape.backward(y);
  EXPECT_EQ(calls, 2);
}

TEST(Checkpoint, HoldsLessMemory) {
  Allocator& allocator = backend(kCpu).allocator();
  const auto peak = [&](bool checkpointed) {
    const Tensor x = Tensor::ones({50'000}, DType::f64).set_requires_grad();
    const auto block = [](const Inputs& in) {
      Tensor y = in[0];
      for (int i = 0; i < 8; ++i) y = tanh(y);
      return y;
    };
    const int64_t before = allocator.stats().bytes_in_use;
    allocator.reset_peak();
    Tape tape;
    Tensor y = x;
    for (int i = 0; i < 8; ++i) y = checkpointed ? checkpoint(block, {y}) : block({y});
    tape.backward(sum(y));
    return static_cast<double>(allocator.stats().peak_bytes - before) / (50'000 * 8);
  };
  // 64 saved outputs in the plain pass; 8 inputs and 8 outputs of one block with checkpoints.
  EXPECT_GT(peak(false), 60);
  EXPECT_LT(peak(true), 22);
}

TEST(Checkpoint, InPlaceWritesToItsInputsAreAnError) {
  Tensor constant = f64({2});
  const Tensor x = leaf({3});
  Tape tape;
  const Tensor y = checkpoint([](const Inputs& in) { return in[0] * in[1]; }, {x, constant});
  constant.fill_(9);
  expect_error([&] { tape.backward(y); }, {"checkpoint", "in place"});
}

TEST(Checkpoint, ACapturedRecordedTensorIsAnErrorWithTheRemedy) {
  const Tensor x = leaf({3});
  Tape tape;
  const Tensor recorded = x * 2.0;
  const Tensor y = checkpoint([&](const Inputs& in) { return in[0] * recorded; }, {x});
  expect_error([&] { tape.backward(y); }, {"mul", "another tape", "checkpoint() as an input"});
}

TEST(Checkpoint, AnErrorInTheRerunPutsTheGeneratorBack) {
  const Tensor x = leaf({3});
  Generator generator(1);
  int calls = 0;
  Tape tape;
  const Tensor y = checkpoint(
      [&](const Inputs& in) {
        require(++calls < 2, "custom", "fails the second time");
        return dropout(in[0], 0.5, generator);
      },
      {x}, &generator);
  const Generator after = generator;
  expect_error([&] { tape.backward(y); }, {"custom"});
  EXPECT_EQ(generator, after);
}

}  // namespace
}  // namespace tapir
