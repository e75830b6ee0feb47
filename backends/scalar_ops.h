// Every elementwise function with its derivative, written once for all devices and dtypes.
// T is float or double: 16-bit floats are widened before they get here.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>

#include "backends/error.h"
#include "backends/philox.h"  // TAPIR_HOST_DEVICE

namespace tapir {

enum class UnaryOp : uint8_t {
  neg, abs, exp, log, sqrt, rsqrt, square, reciprocal, sin, cos, tanh, sigmoid, relu, silu, gelu,
  gelu_tanh, erf,
  pow_scalar, add_scalar, mul_scalar, clamp_min,  // these four use the parameter p
};

enum class BinaryOp : uint8_t { add, sub, mul, div, pow, maximum, minimum };

enum class CompareOp : uint8_t { eq, ne, lt, le, gt, ge };

namespace scalar {

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
TAPIR_HOST_DEVICE inline double exp(double x) { return std::exp(x); }

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
  return std::tanh(T(kSqrt2OverPi) * (x + T(kGeluCubic) * x * x * x));
}

}  // namespace scalar

// Which tensor the derivative reads, so that the tape keeps only that one.
enum class Saves : uint8_t { nothing, input, output };

// One struct per function: value(x, p), and derivative(x, y, p) with y = value(x, p).
struct Neg {
  static constexpr Saves kSaves = Saves::nothing;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return -x; }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T, T, T) { return T(-1); }
};

struct Abs {
  static constexpr Saves kSaves = Saves::input;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return std::fabs(x); }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T x, T, T) {
    return x > T(0) ? T(1) : (x < T(0) ? T(-1) : T(0));
  }
};

struct Exp {
  static constexpr Saves kSaves = Saves::output;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return scalar::exp(x); }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T, T y, T) { return y; }
};

struct Log {
  static constexpr Saves kSaves = Saves::input;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return std::log(x); }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T x, T, T) { return T(1) / x; }
};

struct Sqrt {
  static constexpr Saves kSaves = Saves::output;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return std::sqrt(x); }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T, T y, T) { return T(0.5) / y; }
};

struct Rsqrt {
  static constexpr Saves kSaves = Saves::output;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return T(1) / std::sqrt(x); }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T, T y, T) {
    return T(-0.5) * y * y * y;
  }
};

struct Square {
  static constexpr Saves kSaves = Saves::input;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return x * x; }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T x, T, T) { return T(2) * x; }
};

struct Reciprocal {
  static constexpr Saves kSaves = Saves::output;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return T(1) / x; }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T, T y, T) { return -y * y; }
};

struct Sin {
  static constexpr Saves kSaves = Saves::input;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return std::sin(x); }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T x, T, T) { return std::cos(x); }
};

struct Cos {
  static constexpr Saves kSaves = Saves::input;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return std::cos(x); }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T x, T, T) { return -std::sin(x); }
};

struct Tanh {
  static constexpr Saves kSaves = Saves::output;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return std::tanh(x); }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T, T y, T) { return T(1) - y * y; }
};

struct Sigmoid {
  static constexpr Saves kSaves = Saves::output;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return scalar::sigmoid(x); }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T, T y, T) {
    return y * (T(1) - y);
  }
};

struct Relu {
  static constexpr Saves kSaves = Saves::output;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return x < T(0) ? T(0) : x; }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T, T y, T) {
    return y > T(0) ? T(1) : T(0);
  }
};

struct Silu {
  static constexpr Saves kSaves = Saves::input;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return x * scalar::sigmoid(x); }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T x, T, T) {
    return scalar::silu_derivative(x);
  }
};

struct Gelu {  // x * Phi(x), with the normal distribution function Phi
  static constexpr Saves kSaves = Saves::input;
  template <typename T> TAPIR_HOST_DEVICE static T phi(T x) {
    return T(0.5) * (T(1) + std::erf(x * T(scalar::kSqrtHalf)));
  }
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return x * phi(x); }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T x, T, T) {
    return phi(x) + x * T(scalar::kInvSqrt2Pi) * scalar::exp(T(-0.5) * x * x);
  }
};

struct GeluTanh {
  static constexpr Saves kSaves = Saves::input;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) {
    return T(0.5) * x * (T(1) + scalar::gelu_inner(x));
  }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T x, T, T) {
    const T t = scalar::gelu_inner(x);
    const T inner = T(scalar::kSqrt2OverPi) * (T(1) + T(3 * scalar::kGeluCubic) * x * x);
    return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * inner;
  }
};

struct Erf {
  static constexpr Saves kSaves = Saves::input;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T) { return std::erf(x); }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T x, T, T) {
    return T(scalar::kTwoOverSqrtPi) * scalar::exp(-x * x);
  }
};

struct PowScalar {
  static constexpr Saves kSaves = Saves::input;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T p) { return std::pow(x, p); }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T x, T, T p) {
    return p == T(0) ? T(0) : p * std::pow(x, p - T(1));
  }
};

struct AddScalar {
  static constexpr Saves kSaves = Saves::nothing;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T p) { return x + p; }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T, T, T) { return T(1); }
};

struct MulScalar {
  static constexpr Saves kSaves = Saves::nothing;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T p) { return x * p; }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T, T, T p) { return p; }
};

struct ClampMin {
  static constexpr Saves kSaves = Saves::input;
  template <typename T> TAPIR_HOST_DEVICE static T value(T x, T p) { return x < p ? p : x; }
  template <typename T> TAPIR_HOST_DEVICE static T derivative(T x, T, T p) {
    return x < p ? T(0) : T(1);
  }
};

// Calls `body.template operator()<Exp>()` for UnaryOp::exp, and so on.
template <typename Body>
decltype(auto) dispatch_unary(UnaryOp op, Body&& body) {
  switch (op) {
    case UnaryOp::neg: return body.template operator()<Neg>();
    case UnaryOp::abs: return body.template operator()<Abs>();
    case UnaryOp::exp: return body.template operator()<Exp>();
    case UnaryOp::log: return body.template operator()<Log>();
    case UnaryOp::sqrt: return body.template operator()<Sqrt>();
    case UnaryOp::rsqrt: return body.template operator()<Rsqrt>();
    case UnaryOp::square: return body.template operator()<Square>();
    case UnaryOp::reciprocal: return body.template operator()<Reciprocal>();
    case UnaryOp::sin: return body.template operator()<Sin>();
    case UnaryOp::cos: return body.template operator()<Cos>();
    case UnaryOp::tanh: return body.template operator()<Tanh>();
    case UnaryOp::sigmoid: return body.template operator()<Sigmoid>();
    case UnaryOp::relu: return body.template operator()<Relu>();
    case UnaryOp::silu: return body.template operator()<Silu>();
    case UnaryOp::gelu: return body.template operator()<Gelu>();
    case UnaryOp::gelu_tanh: return body.template operator()<GeluTanh>();
    case UnaryOp::erf: return body.template operator()<Erf>();
    case UnaryOp::pow_scalar: return body.template operator()<PowScalar>();
    case UnaryOp::add_scalar: return body.template operator()<AddScalar>();
    case UnaryOp::mul_scalar: return body.template operator()<MulScalar>();
    case UnaryOp::clamp_min: return body.template operator()<ClampMin>();
  }
  fail("dispatch_unary", "unknown operation {}", static_cast<int>(op));
}

inline Saves saves(UnaryOp op) {
  return dispatch_unary(op, []<typename Op>() { return Op::kSaves; });
}

// The value of a binary function; gradients of these are composed from other operations.
template <typename T>
TAPIR_HOST_DEVICE T apply_binary(BinaryOp op, T a, T b) {
  switch (op) {
    case BinaryOp::add: return a + b;
    case BinaryOp::sub: return a - b;
    case BinaryOp::mul: return a * b;
    case BinaryOp::div: return a / b;
    case BinaryOp::pow: return static_cast<T>(std::pow(a, b));
    case BinaryOp::maximum: return a > b || a != a ? a : b;
    case BinaryOp::minimum: return a < b || a != a ? a : b;
  }
  return a;
}

template <typename T>
TAPIR_HOST_DEVICE bool apply_compare(CompareOp op, T a, T b) {
  switch (op) {
    case CompareOp::eq: return a == b;
    case CompareOp::ne: return a != b;
    case CompareOp::lt: return a < b;
    case CompareOp::le: return a <= b;
    case CompareOp::gt: return a > b;
    case CompareOp::ge: return a >= b;
  }
  return false;
}

}  // namespace tapir
