// Elementwise, indexing and random kernels of the CPU backend: every dtype and stride,
// and the values at which arithmetic is special.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/arrays.h"

namespace tapir {
namespace {

using namespace testing;  // arrays.h

using Kernels = EveryIsa;

// Ways to see 2 x 3 x 35 elements of a larger memory [8, 6, 70].
std::vector<View> strided(const Array& memory) {
  const auto view = [&](Strides strides) {
    return View{memory.view().data, memory.view().dtype, {2, 3, 35}, strides};
  };
  return {view({105, 35, 1}), view({420, 70, 1}), view({420, 140, 2}),
          view({1, 2, 6}),    view({35, 70, 1}),  view({0, 35, 1}),
          view({35, 0, 1}),   view({3, 1, 0}),    view({0, 0, 0})};
}

TEST_P(Kernels, BinaryOfEveryStride) {
  for (const DType dtype : kFloats) {
    const Array a = Array::random({8, 6, 70}, dtype, 1), b = Array::random({8, 6, 70}, dtype, 2);
    for (const View& x : strided(a)) {
      for (const View& y : strided(b)) {
        const Array out({2, 3, 35}, dtype), memory({8, 6, 70}, dtype);
        View scattered = memory;
        scattered.shape = {2, 3, 35};
        scattered.strides = {1, 2, 6};
        std::vector<double> expected = values(x);
        const std::vector<double> other = values(y);
        for (size_t i = 0; i < expected.size(); ++i) expected[i] -= other[i];
        backend().binary(BinaryOp::sub, x, y, out);
        expect_close(out, expected, tolerance_of(dtype));
        backend().binary(BinaryOp::sub, x, y, scattered);
        expect_close(scattered, expected, tolerance_of(dtype));
      }
    }
  }
}

TEST_P(Kernels, InPlace) {
  const Array x = Array::random({40, 50}, DType::f32, 3);
  std::vector<double> expected = values(x);
  for (double& value : expected) value *= 3;
  backend().unary(UnaryOp::mul_scalar, x, 3, x);
  expect_close(x, expected, 1e-6);
  for (double& value : expected) value += value;
  backend().binary(BinaryOp::add, x, x, x);
  expect_close(x, expected, 1e-6);
}

TEST_P(Kernels, IntegersWrapAndNeverTrap) {
  const std::vector<double> a = {7, -7, kHighest, kLowest, kLowest, 5, 2, 3};
  const std::vector<double> b = {2, 2, 1, 1, -1, 0, 40, 4};
  const auto check = [&](BinaryOp op, const std::vector<double>& expected) {
    const Array out({8}, DType::i32);
    backend().binary(op, Array::of(a, {8}, DType::i32), Array::of(b, {8}, DType::i32), out);
    expect_close(out, expected, 0, std::to_string(static_cast<int>(op)));
  };
  check(BinaryOp::add, {9, -5, kLowest, kLowest + 1, kHighest, 5, 42, 7});
  check(BinaryOp::sub, {5, -9, kHighest - 1, kHighest, kLowest + 1, 5, -38, -1});
  check(BinaryOp::mul, {14, -14, kHighest, kLowest, kLowest, 0, 80, 12});
  check(BinaryOp::div, {3, -3, kHighest, kLowest, kLowest, 0, 0, 0});
  check(BinaryOp::pow, {49, 49, kHighest, kLowest, 0, 1, 0, 81});
  check(BinaryOp::maximum, {7, 2, kHighest, 1, -1, 5, 40, 4});
  check(BinaryOp::minimum, {2, -7, 1, kLowest, kLowest, 0, 2, 3});
}

TEST_P(Kernels, CompareAndWhere) {
  const Array a = Array::of({1, 2, kNan, -0.0}, {4}, DType::f32);
  const Array b = Array::of({1, 3, kNan, 0.0}, {4}, DType::f32);
  const Array out({4}, DType::boolean), picked({4}, DType::f32);
  backend().compare(CompareOp::eq, a, b, out);
  expect_close(out, {1, 0, 0, 1}, 0);
  backend().compare(CompareOp::lt, a, b, out);
  expect_close(out, {0, 1, 0, 0}, 0);
  backend().where(out, a, b, picked);
  expect_close(picked, {1, 2, kNan, 0}, 0);
  const Array i = Array::of({16777216, 5}, {2}, DType::i32);
  const Array j = Array::of({16777217, 5}, {2}, DType::i32);  // the same in f32
  const Array equal({2}, DType::boolean);
  backend().compare(CompareOp::eq, i, j, equal);
  expect_close(equal, {0, 1}, 0);
}

TEST_P(Kernels, CopyConvertsEveryPairOfDtypes) {
  const std::vector<double> source = {0, 1, -2.5, 300.25, kNan, kInfinity, -kInfinity, 1e30};
  for (const DType from : kFloats) {
    const Array exact = Array::of(source, {8}, from);
    for (const DType to : kFloats) {
      std::vector<double> expected = values(Array::of(values(exact), {8}, to));
      const Array out({8}, to);
      backend().copy(exact, out);
      expect_close(out, expected, 0, fmt::format("{} to {}", from, to));
    }
    const Array integers({8}, DType::i32), flags({8}, DType::boolean);
    backend().copy(exact, integers);
    expect_close(integers, {0, 1, -2, 300, 0, kHighest, kLowest, kHighest}, 0);
    backend().copy(exact, flags);
    expect_close(flags, {0, 1, 1, 1, 1, 1, 1, 1}, 0);
  }
  const Array integers = Array::of({0, 7, kLowest, kHighest}, {4}, DType::i32);
  const Array flags = Array::of({0, 1, 1, 0}, {4}, DType::boolean);
  for (const DType to : {DType::f64, DType::i32}) {
    const Array out({4}, to);
    backend().copy(integers, out);
    expect_close(out, {0, 7, kLowest, kHighest}, 0);
    backend().copy(flags, out);
    expect_close(out, {0, 1, 1, 0}, 0);
  }
  const Array out({4}, DType::boolean);
  backend().copy(integers, out);
  expect_close(out, {0, 1, 1, 1}, 0);
}

TEST_P(Kernels, CopyOfEveryStride) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::boolean}) {
    const Array memory = Array::random({8, 6, 70}, dtype, 4);
    for (const View& x : strided(memory)) {
      const Array out({2, 3, 35}, dtype);
      backend().copy(x, out);
      expect_close(out, values(x), 0);
    }
  }
  // Large transposes, with sizes that no tile divides.
  const Array x = Array::random({131, 77}, DType::f32, 5), out({77, 131}, DType::f32);
  backend().copy(transposed(x.view()), out);
  expect_close(out, values(transposed(x.view())), 0);
}

TEST_P(Kernels, Fill) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i32}) {
    const Array memory({4, 10}, dtype);
    View column = memory;
    column.shape = {4, 1};
    backend().fill(-3, column);
    for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(element(memory, i), i % 10 == 0 ? -3 : 0);
    backend().fill(2, memory);
    for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(element(memory, i), 2);
  }
  const Array integers({1}, DType::i32), flag({1}, DType::boolean);
  backend().fill(1e99, integers);
  EXPECT_EQ(element(integers, 0), kHighest);
  backend().fill(-0.5, flag);
  EXPECT_EQ(element(flag, 0), 1);
}

TEST_P(Kernels, GatherAndScatter) {
  const Array index = Array::of({2, 0, 2, 1, 1, 1}, {2, 3}, DType::i32);
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::i32, DType::boolean}) {
    const Array x = Array::of({1, 0, 1, 0, 1, 0}, {2, 3}, dtype), out({2, 3}, dtype);
    backend().gather(x, index, out);
    expect_close(out, {1, 1, 1, 1, 1, 1}, 0);
  }
  for (const DType dtype : kFloats) {
    const Array source = Array::of({1, 2, 4, 8, 16, 32}, {2, 3}, dtype);
    const Array out = Array::of({100, 0, 0, 0, 0, 0}, {2, 3}, dtype);
    backend().scatter_add(index, source, out);
    expect_close(out, {102, 0, 5, 0, 56, 0}, 0);
  }
  // 1000 times 1 onto 256 in bf16, whose spacing there is 2: added one by one in bf16, none stays.
  const Array ones({1, 1000}, DType::bf16), zeros({1, 1000}, DType::i32);
  backend().fill(1, ones);
  const Array sum = Array::of({256}, {1, 1}, DType::bf16);
  backend().scatter_add(zeros, ones, sum);
  EXPECT_EQ(element(sum, 0), 1256);
}

TEST_P(Kernels, FindOutOfRange) {
  const Array index = Array::of({0, 4, 2, 5, -1}, {5}, DType::i32);
  EXPECT_EQ(backend().find_out_of_range(index, 6), 4);
  EXPECT_EQ(backend().find_out_of_range(index, 5), 3);
  EXPECT_EQ(backend().find_out_of_range(index, 0), 0);
  EXPECT_EQ(backend().find_out_of_range(Array({0}, DType::i32), 5), -1);
  EXPECT_EQ(backend().find_out_of_range(Array({1000}, DType::i32), 1), -1);
}

TEST_P(Kernels, EmbeddingAddsUpRepeatedIds) {
  const Array ids = Array::of({2, 0, 2, 2}, {4}, DType::i32);
  for (const DType dtype : kFloats) {
    const Array weight = Array::of({1, 2, 3, 4, 5, 6, 7, 8}, {4, 2}, dtype);
    const Array out({4, 2}, dtype), dweight = Array::random({4, 2}, dtype, 9);
    backend().embedding(weight, ids, out);
    expect_close(out, {5, 6, 1, 2, 5, 6, 5, 6}, 0);
    backend().embedding_backward(out, ids, dweight);
    expect_close(dweight, {1, 2, 0, 0, 15, 18, 0, 0}, 0);
    backend().embedding_backward(Array({0, 2}, dtype), Array({0}, DType::i32), dweight);
    expect_close(dweight, std::vector<double>(8, 0.0), 0);
  }
}

TEST_P(Kernels, SoftmaxOfInfinities) {
  for (const DType dtype : kFloats) {
    const Array x = Array::of(
        {-kInfinity, -kInfinity, -kInfinity, 1000, 1000, -kInfinity, 1, kNan, 2}, {3, 3}, dtype);
    const Array out({3, 3}, dtype), dx({3, 3}, dtype), grad = Array::random({3, 3}, dtype, 10);
    backend().softmax(x, false, out);
    expect_close(out, {0, 0, 0, 0.5, 0.5, 0, kNan, kNan, kNan}, tolerance_of(dtype));
    backend().softmax_backward(grad, out, false, dx);
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(element(dx, i), 0);
    backend().softmax(x, true, out);
    expect_close(out,
                 {-kInfinity, -kInfinity, -kInfinity, -std::log(2.0), -std::log(2.0), -kInfinity,
                  kNan, kNan, kNan},
                 tolerance_of(dtype));
    backend().softmax_backward(grad, out, true, dx);
    for (int64_t i = 0; i < 3; ++i) EXPECT_EQ(element(dx, i), 0);
  }
}

TEST_P(Kernels, CrossEntropyAtItsLimits) {
  const Array logits = Array::of({1000, -1000, 0, -1000, 1000, 0, -kInfinity, 0, 0, -kInfinity,
                                  -kInfinity, -kInfinity, 1, 2, 3},
                                 {5, 3}, DType::f32);
  const Array targets = Array::of({0, 0, 1, 2, -7}, {5}, DType::i32);
  const Array losses({5}, DType::f32), lse({5}, DType::f64), dlogits({5, 3}, DType::f32);
  const Array grad = Array::of({1, 1, 1, 1, 1}, {5}, DType::f32);
  backend().cross_entropy(logits, targets, -7, losses, lse);
  expect_close(losses, {0, 2000, std::log(2.0), kInfinity, 0}, 1e-6);
  backend().cross_entropy_backward(grad, logits, targets, -7, lse, dlogits);
  expect_close(dlogits, {0, 0, 0, -1, 1, 0, 0, -0.5, 0.5, 0, 0, 0, 0, 0, 0}, 1e-6);
}

TEST_P(Kernels, RandomFollowsItsDefinition) {
  for (const RandomKind kind :
       {RandomKind::uniform, RandomKind::normal, RandomKind::truncated_normal}) {
    for (const DType dtype : kFloats) {
      const Array out({9000}, dtype);
      backend().random(kind, 77, 5, 1.5, out);
      std::vector<double> expected;
      for (int64_t i = 0; i < 9000; ++i) expected.push_back(random_element(kind, 77, 5, i, 1.5));
      expect_close(out, values(Array::of(expected, {9000}, dtype)), 0);
    }
  }
}

TEST_P(Kernels, DropoutFollowsTheUniformNumbers) {
  for (const double p : {0.0, 0.1, 0.5, 0.9}) {
    const Array x = Array::random({3, 3001}, DType::f32, 11), out({3, 3001}, DType::f32);
    backend().dropout(x, p, 6, 2, out);
    std::vector<double> expected = values(x);
    for (size_t i = 0; i < expected.size(); ++i) {
      const bool keep = random_element(RandomKind::uniform, 6, 2, static_cast<int64_t>(i), 0) >= p;
      expected[i] = keep ? expected[i] / (1 - p) : 0;
    }
    expect_close(out, expected, 1e-6);
  }
}

TEST_P(Kernels, NothingHappensToNothing) {
  const Array none({0, 4}, DType::f32), row({4}, DType::f32), flags({0, 4}, DType::boolean);
  const Array statistics({0}, DType::f32), ids({0}, DType::i32), wide({0}, DType::f64);
  backend().unary(UnaryOp::exp, none, 0, none);
  backend().unary_backward(UnaryOp::exp, none, none, 0, none);
  backend().binary(BinaryOp::add, none, none, none);
  backend().compare(CompareOp::eq, none, none, flags);
  backend().where(flags, none, none, none);
  backend().copy(none, none);
  backend().fill(1, none);
  backend().softmax(none, false, none);
  backend().softmax_backward(none, none, true, none);
  backend().rms_norm(none, row, 1e-5, none, statistics);
  const Array drow = Array::random({4}, DType::f32, 12);
  backend().rms_norm_backward(none, none, row, statistics, none, drow);
  expect_close(drow, {0, 0, 0, 0}, 0);
  backend().cross_entropy(none, ids, -1, statistics, wide);
  backend().cross_entropy_backward(statistics, none, ids, -1, wide, none);
  backend().dropout(none, 0.5, 1, 1, none);
  backend().random(RandomKind::normal, 1, 1, 0, none);
  double squares = 1;
  backend().sum_of_squares({}, {&squares, DType::f64, {}, {}});
  EXPECT_EQ(squares, 0);
  EXPECT_EQ(backend().count_nonfinite(none), 0);
}

TEST_P(Kernels, DescribesItself) {
  const std::string text = backend().description();
  EXPECT_NE(text.find(cpu::name_of(GetParam())), std::string::npos) << text;
  EXPECT_NE(text.find(cpu::features().model), std::string::npos) << text;
}

INSTANTIATE_TEST_SUITE_P(Isa, Kernels, kEveryIsa, isa_name);

}  // namespace
}  // namespace tapir
