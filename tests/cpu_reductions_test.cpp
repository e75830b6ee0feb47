// Reductions and scans of the CPU backend against plain loops.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/arrays.h"

namespace tapir {
namespace {

using namespace testing;  // arrays.h

using Reductions = EveryIsa;

// Sums and maxima over every subset of axes of permuted views.
TEST_P(Reductions, ReduceEveryAxis) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i32}) {
    const Array memory = Array::random({5, 40, 70}, dtype, 6);
    View permuted = memory;
    permuted.shape = {40, 70, 5};
    permuted.strides = {70, 1, 2800};
    View stepped = memory;
    stepped.shape = {5, 40, 35};
    stepped.strides = {2800, 70, 2};
    for (const View& x : {memory.view(), permuted, stepped}) {
      for (int subset = 0; subset < 8; ++subset) {
        Shape shape = x.shape;
        for (int axis = 0; axis < 3; ++axis)
          if ((subset >> axis & 1) != 0) shape[axis] = 1;
        std::vector<double> sums(static_cast<size_t>(numel(shape)), 0.0);
        std::vector<double> largest(sums.size(), -kInfinity);
        Strides steps = row_major_strides(shape);
        for (int axis = 0; axis < 3; ++axis)
          if (shape[axis] == 1) steps[axis] = 0;
        for (int64_t i = 0; i < x.numel(); ++i) {
          const size_t to = static_cast<size_t>(offset_of(x.shape, steps, i));
          sums[to] += element(x, i);
          largest[to] = std::max(largest[to], element(x, i));
        }
        const Array out(shape, dtype);
        backend().reduce(ReduceOp::sum, x, out);
        const double terms = static_cast<double>(x.numel() / numel(shape));
        expect_close(out, sums, dtype == DType::i32 ? 0 : tolerance_of(dtype) * std::sqrt(terms));
        backend().reduce(ReduceOp::max, x, out);
        expect_close(out, largest, 0);
      }
    }
  }
}

TEST_P(Reductions, ReduceOfManyElementsKeepsPrecision) {
  Array x({1000000}, DType::f32);
  backend().fill(0.1, x);
  const Array out({1}, DType::f32);
  backend().reduce(ReduceOp::sum, x, out);
  EXPECT_NEAR(element(out, 0), 100000.0, 0.5);  // adding up in one f32 would be off by 958
}

TEST_P(Reductions, ReduceSpecialCases) {
  const Array empty({0, 3}, DType::f32), row({1, 3}, DType::f32), nothing({0, 1}, DType::f32);
  backend().reduce(ReduceOp::sum, empty, row);
  expect_close(row, {0, 0, 0}, 0);
  backend().reduce(ReduceOp::max, empty, row);
  expect_close(row, {-kInfinity, -kInfinity, -kInfinity}, 0);
  backend().reduce(ReduceOp::sum, empty, nothing);
  const Array scalar = Array::of({4}, {}, DType::f64), out({}, DType::f64);
  backend().reduce(ReduceOp::sum, scalar, out);
  expect_close(out, {4}, 0);
  const Array nans = Array::of({1, kNan, 3, kNan, 2, 1}, {2, 3}, DType::f32),
              top({2, 1}, DType::f32);
  backend().reduce(ReduceOp::max, nans, top);
  expect_close(top, {kNan, kNan}, 0);
  backend().reduce(ReduceOp::max, nans, row);
  expect_close(row, {kNan, kNan, 3}, 0);
  const Array big = Array::of({kHighest, 1}, {2}, DType::i32), wrapped({1}, DType::i32);
  backend().reduce(ReduceOp::sum, big, wrapped);
  expect_close(wrapped, {kLowest}, 0);
}

TEST_P(Reductions, ArgmaxCumsumSort) {
  const Array x = Array::of({3, 7, 7, 1, 2, kNan, 9, kNan}, {2, 4}, DType::f32);
  const Array index({2}, DType::i32), order({2, 4}, DType::i32), sorted({2, 4}, DType::f32);
  backend().argmax(x, index);
  expect_close(index, {1, 1}, 0);
  backend().sort(x, false, sorted, order);
  expect_close(sorted, {1, 3, 7, 7, 2, 9, kNan, kNan}, 0);
  expect_close(order, {3, 0, 1, 2, 0, 2, 1, 3}, 0);
  backend().sort(x, true, sorted, order);
  expect_close(sorted, {7, 7, 3, 1, kNan, kNan, 9, 2}, 0);
  expect_close(order, {1, 2, 0, 3, 1, 3, 2, 0}, 0);
  const Array y = Array::of({1, 2, 3, -4}, {1, 4}, DType::bf16), sums({1, 4}, DType::bf16);
  backend().cumsum(y, false, sums);
  expect_close(sums, {1, 3, 6, 2}, 0);
  backend().cumsum(y, true, sums);
  expect_close(sums, {2, 1, -1, -4}, 0);
  const Array low = Array::of({-kInfinity, -kInfinity}, {1, 2}, DType::f32), first({1}, DType::i32);
  backend().argmax(low, first);
  expect_close(first, {0}, 0);
}

TEST_P(Reductions, ArgmaxOfLongRows) {
  for (const int64_t n : {1, 15, 16, 17, 1000, 50257}) {
    const Array x = Array::random({2, n}, DType::f32, 7), index({2}, DType::i32);
    backend().argmax(x, index);
    const std::vector<double> all = values(x);
    for (int64_t row = 0; row < 2; ++row) {
      const auto begin = all.begin() + row * n;
      EXPECT_EQ(element(index, row), std::max_element(begin, begin + n) - begin) << n;
    }
  }
}

TEST_P(Reductions, CountNonfinite) {
  for (const DType dtype : kFloats) {
    Array x = Array::random({50, 90}, dtype, 8);
    EXPECT_EQ(backend().count_nonfinite(x), 0);
    x.set(3, kNan);
    x.set(91, kInfinity);
    x.set(92, -kInfinity);
    EXPECT_EQ(backend().count_nonfinite(x), 3);
    EXPECT_EQ(backend().count_nonfinite(transposed(x.view())), 3);
    View second_row = x;
    second_row.shape = {1, 2};
    second_row.data = x.view().data;
    EXPECT_EQ(backend().count_nonfinite(second_row), 0);
  }
  EXPECT_EQ(backend().count_nonfinite(Array({4}, DType::i32)), 0);
}

INSTANTIATE_TEST_SUITE_P(Isa, Reductions, kEveryIsa, isa_name);

}  // namespace
}  // namespace tapir
