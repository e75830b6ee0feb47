// Tensors as data: factories, conversions, copies, in-place writes and their errors.
#include "autograd/tensor.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/tensors.h"

namespace tapir {
namespace {

using testing::bools;
using testing::counting;
using testing::Doubles;
using testing::expect_error;
using testing::expect_tensor;
using testing::f64;
using testing::ints;
using testing::leaf;
using testing::shares_storage;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr DType kAllDTypes[] = {DType::f64, DType::f32, DType::bf16,
                                DType::f16, DType::i32, DType::boolean};

TEST(TensorFactories, FillEveryDType) {
  for (const DType dtype : kAllDTypes) {
    SCOPED_TRACE(name_of(dtype));
    EXPECT_EQ(Tensor::empty({2, 3}, dtype).dtype(), dtype);
    expect_tensor(Tensor::zeros({2}, dtype), {2}, {0, 0});
    expect_tensor(Tensor::ones({1, 2}, dtype), {1, 2}, {1, 1});
    expect_tensor(Tensor::full({3}, 1, dtype), {3}, {1, 1, 1});
    expect_tensor(Tensor::scalar(1, dtype), {}, {1});
    expect_tensor(Tensor::arange(2, dtype), {2}, {0, 1});
    const Tensor like = Tensor::zeros_like(Tensor::ones({2, 2}, dtype));
    EXPECT_EQ(like.dtype(), dtype);
    expect_tensor(like, {2, 2}, {0, 0, 0, 0});
  }
  EXPECT_EQ(Tensor::empty({2}).dtype(), DType::f32);
  EXPECT_EQ(Tensor::arange(3).dtype(), DType::i32);
  expect_tensor(Tensor::arange(0), {0}, {});
}

TEST(TensorFactories, FromHostValues) {
  expect_tensor(Tensor::from({1, 2, 3, 4, 5, 6}, {2, 3}), {2, 3}, {1, 2, 3, 4, 5, 6});
  const std::vector<float> floats{0.5f, -1.25f};
  const Tensor x = Tensor::from(std::span<const float>(floats), {2});
  EXPECT_EQ(x.dtype(), DType::f32);
  expect_tensor(x, {2}, {0.5, -1.25});
  const Tensor i = ints({7, -8}, {2, 1});
  EXPECT_EQ(i.dtype(), DType::i32);
  expect_tensor(i, {2, 1}, {7, -8});
  expect_tensor(Tensor::from(std::initializer_list<double>{}, {0, 4}), {0, 4}, {});
}

TEST(TensorFactories, RefuseImpossibleShapes) {
  expect_error([] { Tensor::empty({2, -1}); }, {"empty", "[2, -1]", "negative"});
  expect_error(
      [] {
        Tensor::zeros({int64_t{1} << 40, int64_t{1} << 40});
      },
      {"empty", "[1099511627776, 1099511627776]", "too large"});
  expect_error([] { Tensor::zeros({0, int64_t{1} << 40, int64_t{1} << 40}); }, {"too large"});
  expect_error([] { Tensor::from({1}, {int64_t{1} << 62, 4}); }, {"from", "too large"});
  expect_error([] { Tensor::zeros({int64_t{1} << 50}); }, {"allocate", "out of memory"});
  expect_error([] { Tensor::zeros({1, 1, 1, 1, 1, 1, 1}); }, {"shape", "6 dimensions"});
  expect_error([] { Tensor::arange(-1); }, {"arange", "-1"});
  expect_error([] { Tensor::arange(int64_t{1} << 40); }, {"arange", "1099511627776"});
  expect_error([] { Tensor::from({1, 2, 3}, {2, 2}); }, {"from", "3 values", "[2, 2]"});
  expect_error([] { Tensor::zeros({1}, DType::f32, kCuda); }, {"device", "cuda"});
}

TEST(TensorFactories, AFactoryHasDenseStrides) {
  const Tensor x = Tensor::zeros({2, 3, 4});
  EXPECT_EQ(x.strides(), (Strides{12, 4, 1}));
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_EQ(x.rank(), 3);
  EXPECT_EQ(x.numel(), 24);
  EXPECT_EQ(x.size(0), 2);
  EXPECT_EQ(x.size(-1), 4);
  EXPECT_EQ(x.device(), kCpu);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(x.view().data) % 64, 0u);
  expect_error([&] { x.size(3); }, {"size", "axis 3", "3 dimensions"});
  expect_error([&] { x.size(-4); }, {"size", "axis -4"});
}

TEST(TensorHandles, CopyingAliasesAndCloneCopies) {
  Tensor x = f64({1, 2});
  Tensor alias = x;
  const Tensor copy = clone(x);
  alias.fill_(7);
  expect_tensor(x, {2}, {7, 7});
  expect_tensor(copy, {2}, {1, 2});
  EXPECT_TRUE(alias.is(x));
  EXPECT_FALSE(copy.is(x));
  EXPECT_FALSE(Tensor().defined());
}

TEST(TensorHandles, UsingAnUndefinedTensorIsAnError) {
  const Tensor none;
  expect_error([&] { none.shape(); }, {"tensor", "before it was given a value"});
  expect_error([&] { none + none; }, {"tensor"});
  expect_error([&] { none.to_vector(); }, {"tensor"});
  expect_error([&] { Tensor::zeros({1}).copy_(none); }, {"tensor"});
  EXPECT_EQ(none.to_string(), "tensor(undefined)");
}

TEST(TensorRead, ItemAndVectorsFollowStrides) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(transpose(x).to_vector(), (std::vector<double>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(slice(x, 1, 0, 3, 2).to_vector(), (std::vector<double>{0, 2, 3, 5}));
  EXPECT_EQ(expand(f64({4}), {3}).to_vector(), (std::vector<double>{4, 4, 4}));
  EXPECT_EQ(select(select(x, 0, 1), 0, 2).item(), 5);
  EXPECT_EQ(Tensor::scalar(1, DType::boolean).item(), 1);
  EXPECT_EQ(transpose(to(x, DType::i32)).to_ints(), (std::vector<int32_t>{0, 3, 1, 4, 2, 5}));
  expect_error([&] { x.item(); }, {"item", "[2, 3]"});
  expect_error([&] { Tensor::zeros({0}).item(); }, {"item", "[0]"});
  expect_error([&] { x.to_ints(); }, {"to_ints", "f64"});
}

TEST(TensorRead, DataChecksTheDType) {
  const Tensor x = slice(counting({4}), 0, 1, 4);
  EXPECT_EQ(x.data<double>()[0], 1);
  expect_error([&] { x.data<float>(); }, {"data", "f32", "f64"});
}

TEST(TensorRead, ToStringShowsTypeShapeAndTheFirstValues) {
  EXPECT_EQ(f64({1, -0.5}, {2, 1}).to_string(), "tensor(f64 [2, 1]: 1, -0.5)");
  EXPECT_EQ(Tensor::scalar(3).to_string(), "tensor(f32 []: 3)");
  EXPECT_EQ(Tensor::zeros({0}, DType::i32).to_string(), "tensor(i32 [0]: )");
  EXPECT_EQ(Tensor::arange(17).to_string(),
            "tensor(i32 [17]: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, ...)");
  EXPECT_EQ(Tensor::from({kNaN, kInfinity}, {2}).to_string(), "tensor(f32 [2]: nan, inf)");
}

// Expected values by the definition of each type: bf16 has 8 and f16 has 11 significant bits,
// halves round to even, integers truncate and saturate.
TEST(TensorConvert, RoundsLikeEachDType) {
  const Doubles values{1.00390625, 1.01171875, -2.7, 3e9, 70000, 1e-8, kInfinity, 0};
  const Tensor x = f64(values);
  const auto as = [&](DType dtype) { return to(x, dtype).to_vector(); };
  EXPECT_EQ(as(DType::bf16), (Doubles{1.0, 1.015625, -2.703125, 3003121664, 70144,
                                      1.0011717677116394e-08, kInfinity, 0}));
  EXPECT_EQ(as(DType::f16),
            (Doubles{1.00390625, 1.01171875, -2.69921875, kInfinity, kInfinity, 0, kInfinity, 0}));
  EXPECT_EQ(as(DType::i32), (Doubles{1, 1, -2, 2147483647, 70000, 0, 2147483647, 0}));
  EXPECT_EQ(as(DType::boolean), (Doubles{1, 1, 1, 1, 1, 1, 1, 0}));
  EXPECT_EQ(as(DType::f32)[2], static_cast<double>(-2.7f));
  EXPECT_TRUE(std::isnan(to(f64({kNaN}), DType::bf16).item()));
  EXPECT_TRUE(std::isnan(to(f64({kNaN}), DType::f16).item()));
  EXPECT_EQ(to(f64({kNaN}), DType::i32).item(), 0);
  EXPECT_EQ(to(f64({kNaN}), DType::boolean).item(), 1);
}

TEST(TensorConvert, EveryPairOfDTypesKeepsSmallIntegers) {
  for (const DType from : kAllDTypes) {
    for (const DType target : kAllDTypes) {
      SCOPED_TRACE(fmt::format("{} to {}", from, target));
      const Tensor x = transpose(Tensor::from({0, 1, 1, 0, 0, 1}, {2, 3}, from));
      const Tensor y = to(x, target);
      EXPECT_EQ(y.dtype(), target);
      expect_tensor(y, {3, 2}, {0, 0, 1, 0, 1, 1});
    }
  }
}

TEST(TensorConvert, TheSameDTypeAndDeviceAreTheSameTensor) {
  const Tensor x = f64({1});
  EXPECT_TRUE(to(x, DType::f64).is(x));
  EXPECT_TRUE(to(x, kCpu).is(x));
  expect_error([&] { to(x, kCuda); }, {"device", "cuda"});
}

TEST(TensorCopy, ConvertsBroadcastsAndFollowsStrides) {
  Tensor x = Tensor::zeros({2, 3});
  x.copy_(f64({1, 2, 3}));
  expect_tensor(x, {2, 3}, {1, 2, 3, 1, 2, 3});
  transpose(x).copy_(counting({3, 2}));
  expect_tensor(x, {2, 3}, {0, 2, 4, 1, 3, 5});
  slice(x, 1, 0, 3, 2).fill_(-1);
  expect_tensor(x, {2, 3}, {-1, 2, -1, -1, 3, -1});
  x.copy_(ints({7}, {1, 1}));
  expect_tensor(x, {2, 3}, {7, 7, 7, 7, 7, 7});
}

TEST(TensorCopy, OverlappingSourceIsReadFirst) {
  Tensor x = counting({3, 3});
  x.copy_(transpose(x));
  expect_tensor(x, {3, 3}, {0, 3, 6, 1, 4, 7, 2, 5, 8});
  Tensor y = counting({5});
  slice(y, 0, 1, 5).copy_(slice(y, 0, 0, 4));
  expect_tensor(y, {5}, {0, 0, 1, 2, 3});
}

TEST(TensorCopy, BumpsTheVersion) {
  Tensor x = f64({1, 2});
  const uint64_t before = x.storage().version();
  x.fill_(3);
  EXPECT_EQ(x.storage().version(), before + 1);
  slice(x, 0, 0, 1).copy_(f64({4}));
  EXPECT_EQ(x.storage().version(), before + 2);
  expect_tensor(x, {2}, {4, 3});
}

TEST(TensorCopy, Errors) {
  Tensor x = Tensor::zeros({2, 3});
  expect_error([&] { x.copy_(f64({1, 2})); }, {"copy_", "[2]", "[2, 3]"});
  expect_error([&] { x.copy_(Tensor::zeros({1, 2, 3})); }, {"copy_", "[1, 2, 3]", "[2, 3]"});
  expect_error(
      [&] {
        expand(f64({1}), {3}).copy_(f64({1, 2, 3}));
      },
      {"copy_", "[3]", "[0]", "more than once"});
}

TEST(TensorCopy, InPlaceWritesHaveNoGradientSoATapeRefusesThem) {
  Tensor weight = leaf({1, 2});
  Tensor buffer = f64({0, 0});
  weight.fill_(5);  // no tape: an initialiser
  {
    Tape tape;
    expect_error([&] { weight.fill_(1); }, {"fill_", "requires grad", "NoGrad"});
    expect_error([&] { weight.copy_(buffer); }, {"copy_", "the tensor requires grad"});
    expect_error([&] { buffer.copy_(weight * 2.0); }, {"copy_", "the source requires grad"});
    NoGrad pause;
    buffer.copy_(weight);
  }
  expect_tensor(weight, {2}, {5, 5});
  expect_tensor(buffer, {2}, {5, 5});
}

TEST(TensorGrad, RequiresGradIsForFloatingLeaves) {
  for (const DType dtype : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    EXPECT_TRUE(Tensor::zeros({1}, dtype).set_requires_grad().requires_grad());
  }
  expect_error([] { Tensor::zeros({1}, DType::i32).set_requires_grad(); },
               {"set_requires_grad", "i32"});
  expect_error([] { Tensor::zeros({1}, DType::boolean).set_requires_grad(); },
               {"set_requires_grad", "bool"});
  Tensor::zeros({1}, DType::i32).set_requires_grad(false);  // nothing to refuse
  const Tensor x = leaf({1});
  Tape tape;
  Tensor y = x * 2.0;
  EXPECT_TRUE(y.requires_grad());
  EXPECT_FALSE(y.is_leaf());
  expect_error([&] { y.set_requires_grad(); }, {"set_requires_grad", "recorded", "detach()"});
  EXPECT_FALSE(detach(y).requires_grad());
  EXPECT_TRUE(shares_storage(detach(y), y));
}

TEST(TensorGrad, SetGradKeepsADenseCopyOfItsOwn) {
  const Tensor x = leaf({1, 2});
  Tensor given = f64({3, 4});
  x.set_grad(given);
  given.fill_(0);
  expect_tensor(x.grad(), {2}, {3, 4});
  x.set_grad(expand(f64({5}), {2}));
  EXPECT_TRUE(x.grad().is_contiguous());
  expect_tensor(x.grad(), {2}, {5, 5});
  x.set_grad(Tensor());
  EXPECT_FALSE(x.grad().defined());
  expect_error([&] { x.set_grad(f64({1})); }, {"set_grad", "[1]", "[2]"});
  expect_error([&] { x.set_grad(Tensor::zeros({2})); }, {"set_grad", "f32", "f64"});
}

TEST(TensorNames, ParseDTypesAndDevices) {
  for (const DType dtype : kAllDTypes) EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
  expect_error([] { parse_dtype("float"); }, {"dtype", "'float'", "f64, f32, bf16, f16"});
  EXPECT_EQ(parse_device("cpu"), kCpu);
  EXPECT_EQ(parse_device("cuda"), kCuda);
  expect_error([] { parse_device("gpu"); }, {"device", "'gpu'", "cpu or cuda"});
}

}  // namespace
}  // namespace tapir
