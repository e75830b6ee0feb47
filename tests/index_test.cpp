// Reading and writing by position: values by hand, repeated positions, and every error.
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

TEST(Gather, PicksAlongAnAxis) {
  const Tensor x = counting({2, 3});
  expect_tensor(gather(x, 1, ints({2, 0, 1, 1}, {2, 2})), {2, 2}, {2, 0, 4, 4});
  expect_tensor(gather(x, 0, ints({1, 0, 1}, {1, 3})), {1, 3}, {3, 1, 5});
  expect_tensor(gather(transpose(x), 0, ints({2, 0}, {1, 2})), {1, 2}, {2, 3});
  expect_tensor(gather(x, -1, Tensor::zeros({2, 0}, DType::i32)), {2, 0}, {});
  expect_tensor(gather(ints({5, 6}, {2}), 0, ints({1, 1, 0}, {3})), {3}, {6, 6, 5});
  expect_tensor(gather(bools({1, 0}, {2}), 0, ints({1, 0}, {2})), {2}, {0, 1});
}

TEST(Gather, GradientAddsUpRepeats) {
  const Tensor x = leaf({1, 2, 3});
  Tape tape;
  tape.backward(gather(x, 0, ints({2, 2, 0}, {3})), f64({10, 20, 30}));
  expect_tensor(x.grad(), {3}, {30, 0, 30});
}

TEST(Scatter, WritesWhereGatherWouldRead) {
  const Tensor x = Tensor::zeros({2, 3}, DType::f64), source = f64({1, 2, 3, 4}, {2, 2});
  expect_tensor(scatter(x, 1, ints({2, 0, 1, 2}, {2, 2}), source), {2, 3}, {2, 0, 1, 0, 3, 4});
  expect_tensor(scatter(counting({2, 2}), 0, ints({1, 0}, {1, 2}), f64({8, 9}, {1, 2})), {2, 2},
                {0, 9, 8, 3});
  expect_tensor(scatter_add(Tensor::ones({3}, DType::f64), 0, ints({1, 1, 2}, {3}), f64({1, 2, 3})),
                {3}, {1, 4, 4});
  expect_tensor(scatter(Tensor::zeros({0}, DType::f64), 0, Tensor::zeros({0}, DType::i32),
                        Tensor::zeros({0}, DType::f64)),
                {0}, {});
}

TEST(Scatter, WhatIsOverwrittenPassesNoGradient) {
  const Tensor x = leaf({1, 2, 3}), source = leaf({7});
  Tape tape;
  tape.backward(scatter(x, 0, ints({1}, {1}), source), f64({10, 20, 30}));
  expect_tensor(x.grad(), {3}, {10, 0, 30});
  expect_tensor(source.grad(), {1}, {20});
}

// Many small terms into one 16-bit element: added one by one in bf16 they would stop at 256.
TEST(ScatterAdd, KeepsSixteenBitSumsInF32) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Tensor ones = Tensor::ones({1000}, dtype);
    const Tensor sums =
        scatter_add(Tensor::zeros({1}, dtype), 0, Tensor::zeros({1000}, DType::i32), ones);
    EXPECT_EQ(sums.item(), 1000);
  }
}

TEST(Embedding, LooksUpRowsAndAddsUpRepeatedIds) {
  const Tensor weight = leaf({1, 2, 3, 4, 5, 6}, {3, 2});
  Tape tape;
  const Tensor y = embedding(weight, ints({2, 0, 2, 2}, {2, 2}));
  expect_tensor(y, {2, 2, 2}, {5, 6, 1, 2, 5, 6, 5, 6});
  tape.backward(y, f64({1, 10, 2, 20, 3, 30, 4, 40}, {2, 2, 2}));
  expect_tensor(weight.grad(), {3, 2}, {2, 20, 0, 0, 8, 80});
  expect_tensor(embedding(weight, ints({1}, {})), {2}, {3, 4});
}

TEST(Embedding, KeepsSixteenBitSumsInF32) {
  for (const DType dtype : {DType::bf16, DType::f16}) {
    const Tensor weight = Tensor::zeros({2, 1}, dtype).set_requires_grad();
    Tape tape;
    const Tensor y = embedding(weight, Tensor::zeros({1000}, DType::i32));
    tape.backward(y, Tensor::ones({1000, 1}, dtype));
    expect_tensor(weight.grad(), {2, 1}, {1000, 0});
  }
}

TEST(IndexSelect, TakesRowsOfAnyAxis) {
  const Tensor x = counting({2, 3});
  expect_tensor(index_select(x, 0, ints({1, 1}, {2})), {2, 3}, {3, 4, 5, 3, 4, 5});
  expect_tensor(index_select(x, 1, ints({2}, {1})), {2, 1}, {2, 5});
  expect_tensor(index_select(x, -1, Tensor::zeros({0}, DType::i32)), {2, 0}, {});
  expect_tensor(index_select(Tensor::zeros({0, 3}), 0, Tensor::zeros({0}, DType::i32)), {0, 3}, {});
}

TEST(Embedding, TrustsWhatTheHostKnowsOfTheIdsUntilTheyChange) {
  const std::vector<int32_t> values = {2, 0, 1};
  Tensor ids = Tensor::from(std::span(values), {3});
  const auto range = ids.storage().known_range();
  ASSERT_TRUE(range.has_value());
  EXPECT_EQ(range->lowest, 0);
  EXPECT_EQ(range->highest, 2);
  EXPECT_EQ(find_out_of_range(ids, 3), -1);
  EXPECT_EQ(find_out_of_range(ids, 2), 0);
  ids.fill_(7);
  EXPECT_FALSE(ids.storage().known_range().has_value());
  EXPECT_EQ(find_out_of_range(slice(ids, 0, 1, 3), 3), 0);
  expect_error([&] { embedding(Tensor::zeros({3, 2}), ids); }, {"embedding: id 7 at position"});
}

TEST(IndexErrors, PositionsOutOfRangeNameValuePlaceAndBound) {
  const Tensor x = counting({2, 3});
  expect_error(
      [&] {
        gather(x, 1, ints({0, 1, 3, 0}, {2, 2}));
      },
      {"gather", "index 3", "position [1, 0]", "[0, 3)", "size of axis 1"});
  expect_error([&] { gather(x, 0, ints({0, -1, 0}, {1, 3})); }, {"index -1", "position [0, 1]"});
  expect_error(
      [&] {
        index_select(x, 0, ints({0, 2}, {2}));
      },
      {"index_select", "index 2", "position [1]", "[0, 2)"});
  const Tensor source = counting({2, 1});
  expect_error([&] { scatter(x, 1, ints({0, 9}, {2, 1}), source); }, {"scatter:", "index 9"});
  expect_error(
      [&] {
        scatter_add(x, 1, ints({-3, 0}, {2, 1}), source);
      },
      {"scatter_add:", "index -3", "position [0, 0]"});
  expect_error(
      [] {
        embedding(Tensor::zeros({5, 2}), ints({0, 5, -1}, {3}));
      },
      {"embedding", "id 5", "position [1]", "[0, 5)", "vocabulary is 5"});
  expect_error([] { embedding(Tensor::zeros({0, 2}), ints({0}, {1})); }, {"embedding", "id 0"});
  // A transposed index is reported by its own coordinates.
  expect_error(
      [&] {
        gather(x, 0, transpose(ints({0, 0, 0, 7, 0, 0}, {3, 2})));
      },
      {"index 7", "position [1, 1]"});
}

TEST(IndexErrors, ShapesAndDTypes) {
  const Tensor x = counting({2, 3}), index = ints({0, 0}, {2, 1});
  expect_error([&] { gather(x, 1, f64({0, 0}, {2, 1})); }, {"gather", "i32", "f64"});
  expect_error([&] { gather(x, 1, ints({0}, {1, 1})); }, {"gather", "[2, 3]", "[1, 1]", "axis 1"});
  expect_error([&] { gather(x, 1, ints({0, 0}, {2})); }, {"gather", "[2, 3]", "[2]"});
  expect_error([&] { gather(x, 2, index); }, {"gather", "axis 2"});
  expect_error([&] { gather(Tensor::scalar(1), 0, ints({0}, {})); }, {"gather", "0 dimensions"});
  for (const auto function : {scatter, scatter_add}) {
    const std::string op = function == scatter ? "scatter:" : "scatter_add:";
    expect_error([&] { function(x, 1, index, counting({2, 2})); }, {op, "[2, 2]", "[2, 1]"});
    expect_error([&] { function(x, 1, index, Tensor::zeros({2, 1})); }, {op, "f64", "f32"});
    expect_error([&] { function(x, 1, ints({0}, {1, 1}), counting({1, 1})); }, {op, "[1, 1]"});
    expect_error([&] { function(ints({1}, {1}), 0, ints({0}, {1}), ints({1}, {1})); },
                 {op, "floating", "i32"});
  }
  expect_error(
      [&] {
        scatter(x, 1, ints({1, 1, 0, 2}, {2, 2}), counting({2, 2}));
      },
      {"scatter:", "repeats", "scatter_add"});
  expect_error([&] { index_select(x, 0, index); }, {"index_select", "[n]", "[2, 1]"});
  expect_error([&] { index_select(x, 0, f64({0})); }, {"index_select", "i32", "f64"});
  expect_error([&] { index_select(ints({1}, {1}), 0, ints({0}, {1})); },
               {"index_select", "floating", "i32"});
  expect_error([&] { index_select(x, 2, ints({0}, {1})); }, {"index_select", "axis 2"});
  expect_error([&] { embedding(f64({1}), ints({0}, {1})); }, {"embedding", "[V, C]", "[1]"});
  expect_error([&] { embedding(x, f64({0})); }, {"embedding", "i32", "f64"});
  expect_error([&] { embedding(ints({0}, {1, 1}), ints({0}, {1})); }, {"embedding", "floating"});
}

}  // namespace
}  // namespace tapir
