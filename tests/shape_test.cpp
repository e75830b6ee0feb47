#include "backends/shape.h"

#include <gtest/gtest.h>

#include "backends/backend.h"
#include "tests/support/expect_error.h"

namespace tapir {
namespace {

using testing::expect_error;

TEST(Shape, HoldsUpToSixSizes) {
  Shape shape{2, 3};
  EXPECT_EQ(shape.rank(), 2);
  EXPECT_EQ(shape.back(), 3);
  shape.insert(1, 5);
  EXPECT_EQ(shape, (Shape{2, 5, 3}));
  shape.erase(0);
  EXPECT_EQ(shape, (Shape{5, 3}));
  EXPECT_NE(shape, (Shape{5, 3, 1}));
  EXPECT_EQ(shape.to_string(), "[5, 3]");
  EXPECT_EQ(Shape(std::vector<int64_t>{7}).to_string(), "[7]");
  EXPECT_EQ(Shape{}.to_string(), "[]");
  EXPECT_EQ(fmt::format("{}", Shape{1, 2, 3, 4, 5, 6}), "[1, 2, 3, 4, 5, 6]");
  expect_error([] { Shape{1, 2, 3, 4, 5, 6, 7}; }, {"more than 6 dimensions"});
}

TEST(Shape, CountsElements) {
  EXPECT_EQ(numel(Shape{}), 1);
  EXPECT_EQ(numel(Shape{2, 3, 4}), 24);
  EXPECT_EQ(numel(Shape{2, 0, 4}), 0);
}

TEST(Shape, RowMajorStrides) {
  EXPECT_EQ(row_major_strides({2, 3, 4}), (Strides{12, 4, 1}));
  EXPECT_EQ(row_major_strides({}), Strides{});
}

TEST(Shape, Contiguity) {
  EXPECT_TRUE(is_contiguous({2, 3}, {3, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {1, 2}));
  EXPECT_FALSE(is_contiguous({2, 3}, {4, 1}));
  EXPECT_FALSE(is_contiguous({2, 3}, {0, 1}));
  EXPECT_TRUE(is_contiguous({1, 3}, {99, 1}));  // the stride of one element is never used
  EXPECT_TRUE(is_contiguous({3, 1}, {1, 99}));
  EXPECT_TRUE(is_contiguous({0, 3}, {7, 7}));
  EXPECT_TRUE(is_contiguous({}, {}));
}

TEST(Shape, Broadcasting) {
  EXPECT_EQ(broadcast_shapes("add", {2, 3}, {3}), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shapes("add", {2, 1}, {4, 1, 5}), (Shape{4, 2, 5}));
  EXPECT_EQ(broadcast_shapes("add", {}, {2}), (Shape{2}));
  EXPECT_EQ(broadcast_shapes("add", {1}, {0}), (Shape{0}));
  expect_error(
      [] {
        broadcast_shapes("add", {2, 3}, {2, 4});
      },
      {"add: ", "[2, 3]", "[2, 4]", "do not broadcast"});
  expect_error([] { broadcast_shapes("add", {3}, {0}); }, {"[3]", "[0]"});
}

TEST(Shape, NegativeAxes) {
  EXPECT_EQ(normalize_axis("sum", -1, 3), 2);
  EXPECT_EQ(normalize_axis("sum", 0, 3), 0);
  expect_error([] { normalize_axis("sum", 3, 3); }, {"sum: axis 3", "3 dimensions"});
  expect_error([] { normalize_axis("sum", -2, 1); }, {"axis -2", "1 dimension"});
  expect_error([] { normalize_axis("sum", 0, 0); }, {"0 dimensions"});
}

TEST(View, RowsOfTheLastAxis) {
  float data[24] = {};
  const View view{data, DType::f32, {2, 3, 4}, {12, 4, 1}};
  EXPECT_EQ(view.rows(), 6);
  EXPECT_EQ(view.row_length(), 4);
  EXPECT_EQ(view.size(-1), 4);
  EXPECT_EQ(view.stride(-3), 12);
  EXPECT_EQ(view.numel(), 24);
  EXPECT_TRUE(view.contiguous());
  const ConstView scalar{data, DType::f32, {}, {}};
  EXPECT_EQ(scalar.rows(), 1);
  EXPECT_EQ(scalar.row_length(), 1);
  const ConstView converted = view;
  EXPECT_EQ(converted.as<float>(), data);
}

TEST(View, MatmulOperands) {
  const auto readable = [](Shape shape, Strides strides) {
    return is_matmul_operand({nullptr, DType::f32, shape, strides});
  };
  EXPECT_TRUE(readable({3, 4}, {4, 1}));
  EXPECT_TRUE(readable({3, 4}, {9, 1}));
  EXPECT_TRUE(readable({3, 4}, {1, 3}));
  EXPECT_TRUE(readable({5, 3, 4}, {0, 4, 1}));
  EXPECT_TRUE(readable({1, 4}, {0, 1}));   // one row: its stride is never used
  EXPECT_TRUE(readable({4, 1}, {1, 0}));   // one column
  EXPECT_FALSE(readable({3, 4}, {8, 2}));  // neither axis is consecutive
  EXPECT_FALSE(readable({3, 4}, {0, 1}));  // repeated rows
  EXPECT_FALSE(readable({3, 4}, {2, 1}));  // overlapping rows
}

}  // namespace
}  // namespace tapir
