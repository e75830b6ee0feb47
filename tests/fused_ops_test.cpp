// Products, norms, rotary embedding, attention and losses: what they refuse, and rules at their
// limits. Values and gradients are in op_test and the golden tests.
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
using testing::expect_error;
using testing::expect_tensor;
using testing::f64;
using testing::ints;
using testing::leaf;

Tensor zeros(const Shape& shape) {
  return Tensor::zeros(shape, DType::f64);
}

TEST(MatmulErrors, NameBothShapes) {
  expect_error(
      [] {
        matmul(zeros({2, 3}), zeros({4, 5}));
      },
      {"matmul", "inner", "a is [2, 3]", "b is [4, 5]"});
  expect_error([] { matmul(zeros({3}), zeros({4})); }, {"a is [3]", "b is [4]"});
  expect_error([] { matmul(zeros({3}), zeros({2, 4, 5})); }, {"a is [3]", "b is [2, 4, 5]"});
  expect_error([] { matmul(zeros({5, 2}), zeros({3})); }, {"a is [5, 2]", "b is [3]"});
  expect_error(
      [] {
        matmul(zeros({2, 3, 4}), zeros({5, 4, 6}));
      },
      {"matmul", "[2]", "[5]", "do not broadcast"});
  expect_error([] { matmul(zeros({}), zeros({1})); }, {"matmul", "[]", "[1]"});
  expect_error([] { matmul(zeros({1, 1}), Tensor::zeros({1, 1})); }, {"matmul", "f64", "f32"});
  expect_error([] { matmul(ints({1}, {1, 1}), ints({1}, {1, 1})); }, {"matmul", "floating"});
  expect_error([] { outer(zeros({2, 2}), zeros({2})); }, {"outer", "[2, 2]", "[2]"});
}

TEST(LinearErrors, NameBothShapes) {
  const Tensor weight = zeros({5, 3});
  expect_error([&] { linear(zeros({2, 4}), weight); }, {"linear", "x is [2, 4]", "[5, 3]"});
  expect_error([&] { linear(zeros({}), weight); }, {"linear", "x is []", "[5, 3]"});
  expect_error([&] { linear(zeros({3}), zeros({3})); }, {"linear", "[out, in]", "[3]"});
  expect_error([&] { linear(zeros({3}), weight, zeros({3})); },
               {"linear", "bias is [3]", "[5, 3]"});
  expect_error([&] { linear(Tensor::zeros({3}), weight); }, {"linear", "f32", "f64"});
  expect_error([&] { linear(zeros({3}), weight, Tensor::zeros({5})); }, {"linear", "f64", "f32"});
  expect_tensor(linear(zeros({2, 0}), zeros({3, 0}), f64({1, 2, 3})), {2, 3}, {1, 2, 3, 1, 2, 3});
  expect_tensor(linear(zeros({0, 3}), weight), {0, 5}, {});
}

TEST(NormErrors, NameBothShapes) {
  const Tensor x = zeros({2, 3}), weight = zeros({3});
  expect_error([&] { rms_norm(x, zeros({2})); }, {"rms_norm", "weight is [2]", "x is [2, 3]"});
  expect_error(
      [&] {
        layer_norm(x, zeros({2, 3}), Tensor());
      },
      {"layer_norm", "weight is [2, 3]", "[3]"});
  expect_error([&] { layer_norm(x, weight, zeros({4})); }, {"layer_norm", "bias is [4]"});
  expect_error([&] { rms_norm(zeros({}), weight); }, {"rms_norm", "[]"});
  expect_error([&] { rms_norm(zeros({2, 0}), zeros({0})); }, {"rms_norm", "[2, 0]"});
  expect_error([&] { rms_norm(x, Tensor::zeros({3})); }, {"rms_norm", "f64", "f32"});
  expect_error([&] { layer_norm(x, weight, Tensor::zeros({3})); }, {"layer_norm", "f64", "f32"});
  expect_error([&] { rms_norm(ints({1}, {1}), ints({1}, {1})); }, {"rms_norm", "floating"});
}

// The squares of 300 leave the range of f16; the statistics are kept in f32.
TEST(Norm, StatisticsOfF16DoNotOverflow) {
  const Tensor x = Tensor::from({300, -300, 300, -300}, {4}, DType::f16);
  const Tensor one = Tensor::ones({4}, DType::f16);
  expect_tensor(rms_norm(x, one), {4}, {1, -1, 1, -1});
  expect_tensor(layer_norm(x, one, Tensor()), {4}, {1, -1, 1, -1});
}

TEST(RopeErrors, NameTheShapes) {
  const Tensor x = zeros({2, 3, 4}), table = zeros({8, 2}), at = Tensor::arange(3);
  const auto run = [](const Tensor& in, const Tensor& cosine, const Tensor& sine,
                      const Tensor& positions) {
    rope(in, cosine, sine, positions, RopeLayout::interleaved);
  };
  run(x, table, table, at);
  expect_error([&] { run(zeros({4}), table, table, at); }, {"rope", "[T, D]", "[4]"});
  expect_error([&] { run(zeros({3, 5}), table, table, at); }, {"rope", "head size 5", "odd"});
  expect_error(
      [&] {
        run(x, zeros({8, 4}), zeros({8, 4}), at);
      },
      {"rope", "[8, 4]", "[2, 3, 4]", "[max_seq_len, 2]"});
  expect_error([&] { run(x, table, zeros({7, 2}), at); }, {"rope", "[8, 2]", "[7, 2]"});
  expect_error([&] { run(x, Tensor::zeros({8, 2}), table, at); }, {"rope", "f32", "f64"});
  expect_error([&] { run(x, table, table, f64({0, 1, 2})); }, {"rope", "i32", "f64"});
  expect_error([&] { run(x, table, table, Tensor::arange(4)); },
               {"rope", "positions are [4]", "x is [2, 3, 4]", "[3] or [2, 3]"});
  expect_error([&] { run(x, table, table, Tensor::zeros({3, 3}, DType::i32)); }, {"[3, 3]"});
  expect_error(
      [&] {
        run(x, table, table, ints({0, 8, 1}, {3}));
      },
      {"rope", "position 8", "[0, 8)", "max_seq_len"});
  expect_error([&] { run(x, table, table, ints({0, -1, 1}, {3})); }, {"rope", "position -1"});
}

TEST(AttentionErrors, NameTheShapes) {
  const std::string op = "scaled_dot_product_attention";
  const Tensor q = zeros({2, 4, 3, 8}), k = zeros({2, 2, 5, 8});
  const auto run = [](const Tensor& a, const Tensor& b, const Tensor& c) {
    scaled_dot_product_attention(a, b, c);
  };
  const auto with_mask = [&](const Tensor& mask) {
    AttentionArguments arguments;
    arguments.mask = mask;
    scaled_dot_product_attention(q, k, k, arguments);
  };
  run(q, k, k);
  expect_error(
      [&] {
        run(q, zeros({2, 2, 5, 4}), k);
      },
      {op, "[2, 4, 3, 8]", "[2, 2, 5, 4]", "head"});
  expect_error([&] { run(q, k, zeros({2, 2, 6, 8})); }, {op, "[2, 2, 5, 8]", "[2, 2, 6, 8]"});
  expect_error([&] { run(q, zeros({3, 2, 5, 8}), zeros({3, 2, 5, 8})); }, {op, "batch"});
  expect_error(
      [&] {
        run(q, zeros({2, 3, 5, 8}), zeros({2, 3, 5, 8}));
      },
      {op, "4 query heads", "multiple"});
  expect_error([&] { run(q, zeros({2, 0, 5, 8}), zeros({2, 0, 5, 8})); }, {op, "4 query heads"});
  expect_error([&] { run(q, zeros({2, 5, 8}), zeros({2, 5, 8})); }, {op, "same rank"});
  expect_error([&] { run(zeros({8}), zeros({8}), zeros({8})); }, {op, "2 to 4"});
  expect_error([&] { run(q, Tensor::zeros({2, 2, 5, 8}), k); }, {op, "f64", "f32"});
  expect_error(
      [&] {
        run(ints({1}, {1, 1}), ints({1}, {1, 1}), ints({1}, {1, 1}));
      },
      {op, "floating"});
  expect_error([&] { with_mask(zeros({3, 5})); }, {op, "bool", "f64"});
  expect_error([&] { with_mask(bools({1, 1}, {2})); }, {op, "[2]", "[2, 4, 3, 5]"});
  expect_error(
      [&] {
        with_mask(Tensor::ones({2, 2, 4, 3, 5}, DType::boolean));
      },
      {op, "[2, 2, 4, 3, 5]", "[2, 4, 3, 5]"});
  expect_error(
      [&] {
        with_mask(Tensor::ones({7, 1, 3, 5}, DType::boolean));
      },
      {op, "[7, 1, 3, 5]"});
}

TEST(Attention, AQueryWithoutKeysGivesZerosAndNoGradient) {
  const Tensor q = leaf({1, 2, 3, 4}, {2, 2}), k = leaf({1, 0, 0, 1}, {2, 2});
  const Tensor v = leaf({5, 6, 7, 8}, {2, 2});
  AttentionArguments arguments;
  arguments.mask = bools({0, 0, 1, 0}, {2, 2});
  Tape tape;
  const Tensor y = scaled_dot_product_attention(q, k, v, arguments);
  expect_tensor(y, {2, 2}, {0, 0, 5, 6});  // the second query sees the first key only
  tape.backward(y, Tensor::ones({2, 2}, DType::f64));
  expect_tensor(q.grad(), {2, 2}, {0, 0, 0, 0});
  expect_tensor(v.grad(), {2, 2}, {1, 1, 0, 0});
}

TEST(CrossEntropy, ByHand) {
  const double half = std::log(2.0);
  const Tensor logits = f64({0, 0, 5, 5, 1000, -1000}, {3, 2});
  const Tensor targets = ints({0, 1, 1}, {3});
  const std::vector<double> each = cross_entropy(logits, targets, Reduction::none).to_vector();
  EXPECT_NEAR(each[0], half, 1e-15);
  EXPECT_NEAR(each[1], half, 1e-15);
  EXPECT_EQ(each[2], 2000);
  EXPECT_NEAR(cross_entropy(logits, targets, Reduction::sum).item(), 2000 + 2 * half, 1e-12);
  EXPECT_NEAR(cross_entropy(logits, targets).item(), (2000 + 2 * half) / 3, 1e-12);
  const Tensor some = ints({-100, 1, -100}, {3});
  EXPECT_NEAR(cross_entropy(logits, some).item(), half, 1e-15);
  EXPECT_NEAR(cross_entropy(logits, ints({0, 1, 1}, {3}), Reduction::mean, 1).item(), half, 1e-15);
  EXPECT_EQ(cross_entropy(logits, Tensor::full({3}, -100, DType::i32), Reduction::sum).item(), 0);
  EXPECT_NEAR(cross_entropy(f64({0, 0}), ints({1}, {})).item(), half, 1e-15);
}

TEST(CrossEntropy, SixteenBitLogitsGiveAnF32Loss) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Tensor logits = Tensor::zeros({1, 3}, dtype).set_requires_grad();
    Tape tape;
    const Tensor loss = cross_entropy(logits, ints({1}, {1}));
    EXPECT_EQ(loss.dtype(), DType::f32);
    EXPECT_NEAR(loss.item(), std::log(3.0), 1e-6);
    tape.backward(loss);
    EXPECT_EQ(logits.grad().dtype(), dtype);
  }
}

TEST(CrossEntropyErrors, TargetsNeverBroadcast) {
  const std::string op = "cross_entropy";
  const Tensor logits = zeros({2, 3, 5});
  expect_error(
      [&] {
        cross_entropy(logits, Tensor::zeros({2, 1}, DType::i32));
      },
      {op, "[2, 3, 5]", "[2, 3]", "[2, 1]", "never broadcast"});
  expect_error([&] { cross_entropy(logits, Tensor::zeros({3}, DType::i32)); }, {op, "[3]"});
  expect_error([&] { cross_entropy(logits, zeros({2, 3})); }, {op, "i32", "f64"});
  expect_error([&] { cross_entropy(zeros({}), ints({0}, {})); }, {op, "[..., V]", "[]"});
  expect_error([&] { cross_entropy(zeros({2, 0}), ints({0, 0}, {2})); }, {op, "[2, 0]"});
  expect_error([&] { cross_entropy(ints({1}, {1}), ints({0}, {})); }, {op, "floating"});
  expect_error(
      [&] {
        cross_entropy(zeros({2, 5}), ints({0, 5}, {2}));
      },
      {op, "target 5", "position 1", "[0, 5)", "-100"});
  expect_error([&] { cross_entropy(zeros({2, 5}), ints({-1, 0}, {2})); }, {op, "target -1"});
  expect_error(
      [&] {
        cross_entropy(zeros({2, 5}), Tensor::full({2}, -100, DType::i32));
      },
      {op, "no targets", "all 2", "-100"});
  expect_error(
      [&] {
        cross_entropy(zeros({0, 5}), Tensor::zeros({0}, DType::i32));
      },
      {op, "no targets"});
  expect_error(
      [&] {
        cross_entropy(zeros({1, 5}), ints({0}, {1}), Reduction::mean, int64_t{1} << 40);
      },
      {op, "ignore_index 1099511627776"});
}

TEST(FusedErrors, NameTheLayer) {
  const Scope scope(std::make_shared<const std::string>("layers.0.ffn.w1"));
  expect_error(
      [] {
        linear(zeros({2, 4}), zeros({5, 3}));
      },
      {"linear (in layers.0.ffn.w1): x is [2, 4] but weight is [5, 3]"});
}

}  // namespace
}  // namespace tapir
