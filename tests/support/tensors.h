// Small tensors and exact comparisons, for tests with values worked out by hand.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/ops.h"

namespace tapir::testing {

inline Tensor f64(const std::vector<double>& values, const Shape& shape) {
  return Tensor::from(values, shape, DType::f64);
}

inline Tensor f64(const std::vector<double>& values) {
  return f64(values, {static_cast<int64_t>(values.size())});
}

// A leaf that requires grad.
inline Tensor leaf(const std::vector<double>& values, const Shape& shape) {
  return f64(values, shape).set_requires_grad();
}

inline Tensor leaf(const std::vector<double>& values) {
  return f64(values).set_requires_grad();
}

inline Tensor ints(const std::vector<int32_t>& values, const Shape& shape) {
  return Tensor::from(std::span<const int32_t>(values), shape);
}

inline Tensor bools(const std::vector<double>& values, const Shape& shape) {
  return Tensor::from(values, shape, DType::boolean);
}

// 0, 1, 2, ... in f64.
inline Tensor counting(const Shape& shape) {
  return reshape(Tensor::arange(numel(shape), DType::f64), shape);
}

using Doubles = std::vector<double>;

// Equal shape and exactly equal values.
inline void expect_tensor(const Tensor& actual, const Shape& shape, const Doubles& values) {
  EXPECT_EQ(actual.shape().to_string(), shape.to_string());
  EXPECT_EQ(actual.to_vector(), values);
}

// The values' bits, so that NaNs and signed zeros count too.
inline std::vector<uint64_t> bits_of(const Tensor& x) {
  std::vector<uint64_t> bits;
  for (const double value : x.to_vector()) bits.push_back(std::bit_cast<uint64_t>(value));
  return bits;
}

inline bool shares_storage(const Tensor& a, const Tensor& b) {
  return a.get().storage == b.get().storage;
}

}  // namespace tapir::testing
