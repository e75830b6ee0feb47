// The functions that elementwise operations are made of, for host and device. T is float or double.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/philox.h"  // TAPIR_HOST_DEVICE

namespace tapir::scalar {

inline constexpr double kSqrtHalf = 0.70710678118654752440;
inline constexpr double kInvSqrt2Pi = 0.39894228040143267794;
inline constexpr double kSqrt2OverPi = 0.79788456080286535588;
inline constexpr double kTwoOverSqrtPi = 1.12837916709551257390;
inline constexpr double kGeluCubic = 0.044715;  // Hendrycks and Gimpel 2016, the tanh form

// exp for f32 without branches, so that compilers vectorise it: 2^n times a polynomial on
// [-ln2/2, ln2/2] (coefficients of the Cephes library), within 2 units in the last place. Below
// -87.33 the true value leaves the normal range and the result is 0; above 88.72, infinity.
TAPIR_HOST_DEVICE inline float exp(float x) {
  constexpr float kLowest = -87.33654f, kHighest = 88.72283f, kRound = 12582912.0f;  // 1.5 * 2^23
  const float clamped = x < kLowest ? kLowest : (x > kHighest ? kHighest : x);
  // Adding 1.5 * 2^23 rounds to an integer, which then sits in the low bits of the mantissa.
  const float shifted = clamped * 1.44269504088896341f + kRound;
  const float n = shifted - kRound;
  const float r = (clamped - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  // 2^n in two factors, because 2^128 alone has no f32.
  const int32_t exponent = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound);
  const int32_t half = exponent >> 1;
  const float scaled = p * std::bit_cast<float>((half + 127) << 23) *
                       std::bit_cast<float>((exponent - half + 127) << 23);
  const float in_range = x < kLowest ? 0.0f : scaled;
  return x > kHighest ? std::numeric_limits<float>::infinity() : (x != x ? x : in_range);
}
TAPIR_HOST_DEVICE inline double exp(double x) {
  return std::exp(x);
}

// tanh for f32, again without branches: 1 - 2 / (exp(2 |x|) + 1), and near 0, where that cancels, a
// polynomial (fitted for the least relative error on [0, 0.625]). Within 2 units in the last place.
TAPIR_HOST_DEVICE inline float tanh(float x) {
  const float magnitude = std::fabs(x), square = x * x;
  const float far = std::copysign(1.0f - 2.0f / (exp(2.0f * magnitude) + 1.0f), x);
  float p = -5.717036561e-3f;
  p = p * square + 2.065057900e-2f;
  p = p * square - 5.374349526e-2f;
  p = p * square + 1.333149125e-1f;
  p = p * square - 3.333328392e-1f;
  const float near = x + x * square * p;
  return magnitude < 0.625f ? near : far;
}
TAPIR_HOST_DEVICE inline double tanh(double x) {
  return std::tanh(x);
}

// The error function for f32 without branches: on [0, 1] a polynomial for erf(x) / x, above that
// 1 - exp(p(x)), with p fitted to log(1 - erf) on [1, 4]; erf(4) rounds to 1. Within 2 units in
// the last place.
TAPIR_HOST_DEVICE inline float erf(float x) {
  const float magnitude = std::fabs(x), square = x * x;
  const float capped = magnitude > 4.0f ? 4.0f : magnitude;
  float q = 1.855748931e-4f;
  q = q * capped - 2.939615735e-3f;
  q = q * capped + 2.180535115e-2f;
  q = q * capped - 1.030374355e-1f;
  q = q * capped - 6.382256024e-1f;
  q = q * capped - 1.127040080e+0f;
  q = q * capped - 3.537089293e-4f;
  const float far = std::copysign(1.0f - exp(q), x);
  float p = 7.889119534e-5f;
  p = p * square - 8.020841281e-4f;
  p = p * square + 5.189535339e-3f;
  p = p * square - 2.685444459e-2f;
  p = p * square + 1.128360018e-1f;
  p = p * square - 3.761262714e-1f;
  p = p * square + 1.283791659e-1f;
  const float near = x + x * p;
  return magnitude < 1.0f ? near : far;
}
TAPIR_HOST_DEVICE inline double erf(double x) {
  return std::erf(x);
}

template <typename T>
TAPIR_HOST_DEVICE T sigmoid(T x) {
  return T(1) / (T(1) + exp(-x));
}

template <typename T>
TAPIR_HOST_DEVICE T silu_derivative(T x) {
  const T s = sigmoid(x);
  return s * (T(1) + x * (T(1) - s));
}

// The inner tanh of the approximate GELU.
template <typename T>
TAPIR_HOST_DEVICE T gelu_inner(T x) {
  return tanh(T(kSqrt2OverPi) * (x + T(kGeluCubic) * x * x * x));
}

}  // namespace tapir::scalar
