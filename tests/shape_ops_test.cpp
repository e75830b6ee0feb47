// Views, joins and copies with values worked out by hand: which results share storage, which
// strides they have, and what is refused.
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
using testing::shares_storage;

TEST(Reshape, IsAViewWhereTheStridesAllow) {
  const Tensor x = counting({2, 3, 4});
  const Tensor flat = reshape(x, {6, -1});
  expect_tensor(slice(flat, 0, 4, 5), {1, 4}, {16, 17, 18, 19});
  EXPECT_TRUE(shares_storage(flat, x));
  EXPECT_TRUE(reshape(x, {2, 3, 4}).is(x));
  const Tensor merged = reshape(permute(x, {2, 0, 1}), {4, 6});  // 0 and 1 stay neighbours
  EXPECT_TRUE(shares_storage(merged, x));
  EXPECT_EQ(merged.strides(), (Strides{1, 4}));
  const Tensor split = reshape(slice(x, 2, 0, 4, 2), {2, 3, 1, 2});
  EXPECT_TRUE(shares_storage(split, x));
  expect_tensor(split, {2, 3, 1, 2}, {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22});
}

TEST(Reshape, CopiesWhereTheyDoNot) {
  const Tensor x = counting({2, 3});
  const Tensor y = reshape(transpose(x), {6});
  EXPECT_FALSE(shares_storage(y, x));
  expect_tensor(y, {6}, {0, 3, 1, 4, 2, 5});
  const Tensor z = reshape(slice(counting({3, 4}), 1, 1, 4), {9});
  expect_tensor(z, {9}, {1, 2, 3, 5, 6, 7, 9, 10, 11});
}

TEST(Reshape, RepeatedElementsStayRepeated) {
  const Tensor one = f64({3}, {1});
  const Tensor y = reshape(expand(one, {2, 4}), {8});
  EXPECT_TRUE(shares_storage(y, one));  // one stride, 0, shows all eight
  expect_tensor(y, {8}, {3, 3, 3, 3, 3, 3, 3, 3});
}

TEST(Reshape, EmptyAndScalar) {
  expect_tensor(reshape(Tensor::zeros({0, 3}), {5, 0, 2}), {5, 0, 2}, {});
  expect_tensor(reshape(f64({4}), {}), {}, {4});
  expect_tensor(reshape(Tensor::scalar(4), {1, 1}), {1, 1}, {4});
  expect_tensor(reshape(Tensor::zeros({0, 3}), {-1, 3}), {0, 3}, {});
}

TEST(Reshape, Errors) {
  const Tensor x = counting({2, 3});
  expect_error([&] { reshape(x, {4}); }, {"reshape", "[2, 3]", "6 elements", "[4]"});
  expect_error([&] { reshape(x, {-1, -1}); }, {"reshape", "more than one -1"});
  expect_error([&] { reshape(x, {-1, 4}); }, {"reshape", "[2, 3]", "[-1, 4]"});
  expect_error([&] { reshape(x, {-2, -3}); }, {"reshape", "negative"});
  expect_error([&] { reshape(Tensor::zeros({0}), {-1, 0}); }, {"reshape", "[-1, 0]"});
  const int64_t huge = int64_t{1} << 40;
  expect_error([&] { reshape(x, {huge, huge, huge}); }, {"reshape", "too large"});
  expect_error([&] { reshape(x, {-1, huge, huge}); }, {"reshape", "too large"});
}

TEST(View, RefusesToCopy) {
  const Tensor x = counting({2, 3});
  EXPECT_TRUE(shares_storage(view(x, {3, -1}), x));
  expect_error([&] { view(transpose(x), {6}); },
               {"view", "[3, 2]", "strides [1, 3]", "[6]", "use reshape"});
}

TEST(Permute, ReordersAxes) {
  const Tensor x = counting({2, 3, 4});
  const Tensor y = permute(x, {2, 0, -2});
  EXPECT_EQ(y.shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(y.strides(), (Strides{1, 12, 4}));
  EXPECT_TRUE(shares_storage(y, x));
  EXPECT_EQ(select(select(select(y, 0, 3), 0, 1), 0, 2).item(), 1 * 12 + 2 * 4 + 3);
  expect_tensor(transpose(counting({2, 3})), {3, 2}, {0, 3, 1, 4, 2, 5});
  EXPECT_EQ(transpose(x, 0, 1).shape(), (Shape{3, 2, 4}));
  EXPECT_EQ(transpose(x, 0, 0).strides(), x.strides());
  expect_error([&] { permute(x, {0, 1}); }, {"permute", "2 axes", "[2, 3, 4]"});
  expect_error([&] { permute(x, {0, 1, 1}); }, {"permute", "axis 1 appears twice"});
  expect_error([&] { permute(x, {0, 1, 3}); }, {"permute", "axis 3"});
  expect_error([&] { transpose(f64({1})); }, {"transpose", "axis -2", "1 dimension"});
}

TEST(Expand, RepeatsWithoutCopying) {
  const Tensor x = f64({1, 2, 3}, {3, 1});
  const Tensor y = expand(x, {2, -1, 2});
  EXPECT_TRUE(shares_storage(y, x));
  EXPECT_EQ(y.strides(), (Strides{0, 1, 0}));
  expect_tensor(y, {2, 3, 2}, {1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3});
  EXPECT_TRUE(expand(x, {3, 1}).is(x));
  expect_tensor(expand(f64({1}), {0}), {0}, {});
  expect_tensor(expand(Tensor::scalar(2), {3}), {3}, {2, 2, 2});
  expect_error([&] { expand(x, {2, 4, 1}); }, {"expand", "[3, 1]", "[2, 4, 1]"});
  expect_error([&] { expand(f64({1, 2}), {3}); }, {"expand", "[2]", "[3]"});
  expect_error([&] { expand(x, {3}); }, {"expand", "[3, 1]", "[3]", "drop"});
  expect_error([&] { expand(x, {-1, 3, 1}); }, {"expand", "negative"});
  expect_error([&] { expand(x, {3, -2}); }, {"expand", "negative"});
  expect_error(
      [] {
        expand(f64({1}), {int64_t{1} << 40, int64_t{1} << 40});
      },
      {"expand", "too large"});
}

TEST(SumTo, AddsWhatExpandRepeated) {
  const Tensor x = counting({2, 3, 2});
  expect_tensor(sum_to(x, {3, 1}), {3, 1}, {0 + 1 + 6 + 7, 2 + 3 + 8 + 9, 4 + 5 + 10 + 11});
  expect_tensor(sum_to(x, {}), {}, {66});
  expect_tensor(sum_to(Tensor::zeros({0}), {1}), {1}, {0});
  EXPECT_TRUE(sum_to(x, {2, 3, 2}).is(x));
  expect_error([&] { sum_to(x, {4, 2}); }, {"sum_to", "[2, 3, 2]", "[4, 2]"});
  expect_error([&] { sum_to(f64({1}), {2}); }, {"sum_to", "[1]", "[2]"});
}

TEST(Squeeze, DropsAndAddsAxesOfSizeOne) {
  const Tensor x = counting({2, 1, 3});
  EXPECT_EQ(squeeze(x, 1).shape(), (Shape{2, 3}));
  EXPECT_EQ(squeeze(x, -2).strides(), (Strides{3, 1}));
  EXPECT_EQ(unsqueeze(x, 0).shape(), (Shape{1, 2, 1, 3}));
  EXPECT_EQ(unsqueeze(x, -1).shape(), (Shape{2, 1, 3, 1}));
  EXPECT_EQ(unsqueeze(Tensor::scalar(1), 0).shape(), (Shape{1}));
  EXPECT_TRUE(shares_storage(unsqueeze(x, 3), x));
  expect_error([&] { squeeze(x, 0); }, {"squeeze", "axis 0", "[2, 1, 3]", "size 2"});
  expect_error([&] { unsqueeze(x, 4); }, {"unsqueeze", "axis 4"});
  expect_error([] { unsqueeze(Tensor::zeros({1, 1, 1, 1, 1, 1}), 0); }, {"6 dimensions"});
}

TEST(Slice, ClampsLikePython) {
  const Tensor x = counting({6});
  const auto values = [&](int64_t start, int64_t stop, int64_t step = 1) {
    const Tensor part = slice(x, 0, start, stop, step);
    EXPECT_TRUE(shares_storage(part, x));
    return part.to_vector();
  };
  using Doubles = std::vector<double>;
  EXPECT_EQ(values(1, 4), (Doubles{1, 2, 3}));
  EXPECT_EQ(values(0, 6, 2), (Doubles{0, 2, 4}));
  EXPECT_EQ(values(1, 6, 2), (Doubles{1, 3, 5}));
  EXPECT_EQ(values(-2, 100), (Doubles{4, 5}));
  EXPECT_EQ(values(-100, 2), (Doubles{0, 1}));
  EXPECT_EQ(values(4, 2), Doubles{});
  EXPECT_EQ(values(6, 6), Doubles{});
  EXPECT_EQ(values(1, INT64_MAX, INT64_MAX), Doubles{1});
  EXPECT_EQ(values(INT64_MIN, INT64_MAX, 5), (Doubles{0, 5}));
  expect_error([&] { slice(x, 0, 0, 3, 0); }, {"slice", "step is 0"});
  expect_error([&] { slice(x, 1, 0, 3); }, {"slice", "axis 1", "1 dimension"});
}

TEST(Slice, OfSlicesAndOtherAxes) {
  const Tensor x = counting({4, 5});
  const Tensor even = slice(x, 1, 0, 5, 2);
  expect_tensor(slice(even, 1, 1, 3), {4, 2}, {2, 4, 7, 9, 12, 14, 17, 19});
  expect_tensor(select(even, 0, -1), {3}, {15, 17, 19});
  EXPECT_EQ(select(x, 1, 2).strides(), (Strides{5}));
  expect_error([&] { select(x, 0, 4); }, {"select", "index 4", "axis 0", "[4, 5]"});
  expect_error([&] { select(x, 0, -5); }, {"select", "index -5"});
}

TEST(Cat, JoinsDenseAndStridedParts) {
  const Tensor a = transpose(counting({2, 2})), b = f64({7, 8}, {2, 1});
  const Tensor y = cat({a, b, Tensor::zeros({2, 0}, DType::f64)}, -1);
  expect_tensor(y, {2, 3}, {0, 2, 7, 1, 3, 8});
  EXPECT_FALSE(shares_storage(y, a));
  expect_tensor(cat({a}, 0), {2, 2}, {0, 2, 1, 3});
  expect_tensor(cat({ints({1}, {1}), ints({2}, {1})}, 0), {2}, {1, 2});
  expect_tensor(cat({bools({1}, {1}), bools({0}, {1})}, 0), {2}, {1, 0});
  expect_tensor(stack({f64({1, 2}), f64({3, 4})}, 0), {2, 2}, {1, 2, 3, 4});
  expect_tensor(stack({f64({1, 2}), f64({3, 4})}, -1), {2, 2}, {1, 3, 2, 4});
  expect_tensor(stack({Tensor::scalar(1), Tensor::scalar(2)}, 0), {2}, {1, 2});
}

TEST(Cat, Errors) {
  const Tensor a = Tensor::zeros({2, 3});
  expect_error([] { cat({}, 0); }, {"cat", "at least one"});
  expect_error([] { stack({}, 0); }, {"stack", "at least one"});
  expect_error([&] { cat({a, Tensor::zeros({3, 3})}, 1); }, {"cat", "[2, 3]", "[3, 3]"});
  expect_error([&] { cat({a, Tensor::zeros({2})}, 0); }, {"cat", "[2, 3]", "[2]"});
  expect_error([&] { cat({a, Tensor::zeros({2, 3}, DType::f64)}, 0); }, {"cat", "f32", "f64"});
  expect_error([&] { cat({a}, 2); }, {"cat", "axis 2"});
  expect_error([] { cat({Tensor::scalar(1)}, 0); }, {"cat", "0 dimensions"});
  expect_error([&] { stack({a, Tensor::zeros({3, 2})}, 0); }, {"stack", "[2, 3]", "[3, 2]"});
  expect_error([&] { stack({a, Tensor::zeros({2, 3}, DType::f64)}, 0); }, {"stack", "f64"});
}

TEST(Split, GivesViewsAndAShorterRest) {
  const Tensor x = counting({5, 2});
  const auto parts = split(x, 2, 0);
  ASSERT_EQ(parts.size(), 3u);
  expect_tensor(parts[1], {2, 2}, {4, 5, 6, 7});
  expect_tensor(parts[2], {1, 2}, {8, 9});
  EXPECT_TRUE(shares_storage(parts[2], x));
  EXPECT_EQ(split(x, INT64_MAX, 1).size(), 1u);
  EXPECT_TRUE(split(Tensor::zeros({0}), 3, 0).empty());
  expect_error([&] { split(x, 0, 0); }, {"split", "size is 0"});
}

TEST(Heads, SplitAndMergeAreInverse) {
  const Tensor x = counting({2, 3, 4});
  const Tensor heads = split_heads(x, 2);
  EXPECT_EQ(heads.shape(), (Shape{2, 2, 3, 2}));
  EXPECT_TRUE(shares_storage(heads, x));
  // Batch 1, head 1, time 2 holds features 2 and 3 of that row.
  expect_tensor(select(select(select(heads, 0, 1), 0, 1), 0, 2), {2}, {22, 23});
  expect_tensor(merge_heads(heads), {2, 3, 4}, x.to_vector());
  expect_error([&] { split_heads(x, 3); }, {"split_heads", "width 4", "[2, 3, 4]", "3 heads"});
  expect_error([&] { split_heads(x, 0); }, {"split_heads", "0 heads"});
  expect_error([] { split_heads(f64({1}), 1); }, {"split_heads", "[B, T, C]", "[1]"});
  expect_error([&] { merge_heads(x); }, {"merge_heads", "[B, H, T, D]", "[2, 3, 4]"});
}

TEST(Tril, KeepsTheLowerTriangle) {
  const Tensor x = f64({1, 2, 3, 4, 5, 6}, {2, 3});
  expect_tensor(tril(x), {2, 3}, {1, 0, 0, 4, 5, 0});
  expect_tensor(tril(x, 1), {2, 3}, {1, 2, 0, 4, 5, 6});
  expect_tensor(tril(x, -1), {2, 3}, {0, 0, 0, 4, 0, 0});
  expect_tensor(tril(x, 100), {2, 3}, x.to_vector());
  expect_tensor(tril(Tensor::ones({2, 2}, DType::boolean)), {2, 2}, {1, 0, 1, 1});
  expect_tensor(tril(expand(x, {2, 2, 3}), -5), {2, 2, 3}, std::vector<double>(12));
  expect_error([] { tril(f64({1})); }, {"tril", "[1]"});
}

TEST(Copies, CloneContiguousAndDetach) {
  const Tensor x = transpose(counting({2, 3}));
  const Tensor copy = clone(x);
  EXPECT_FALSE(shares_storage(copy, x));
  EXPECT_TRUE(copy.is_contiguous());
  EXPECT_EQ(copy.to_vector(), x.to_vector());
  EXPECT_TRUE(contiguous(copy).is(copy));
  EXPECT_FALSE(shares_storage(contiguous(x), x));
  EXPECT_TRUE(shares_storage(detach(x), x));
  EXPECT_FALSE(detach(x).is(x));
}

}  // namespace
}  // namespace tapir
