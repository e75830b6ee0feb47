// Every elementwise function with its derivative, written once for all devices and dtypes.
// T is float or double: 16-bit floats are widened before they get here.
#pragma once

#include <cmath>
#include <cstdint>

#include "backends/error.h"
#include "backends/scalar_math.h"

namespace tapir {

enum class UnaryOp : uint8_t {
  neg,
  abs,
  exp,
  log,
  sqrt,
  rsqrt,
  square,
  reciprocal,
  sin,
  cos,
  tanh,
  sigmoid,
  relu,
  silu,
  gelu,
  gelu_tanh,
  erf,
  pow_scalar,
  add_scalar,
  mul_scalar,
  clamp_min,  // these four use the parameter p
};

enum class BinaryOp : uint8_t { add, sub, mul, div, pow, maximum, minimum };

enum class CompareOp : uint8_t { eq, ne, lt, le, gt, ge };

// Which tensor the derivative reads, so that the tape keeps only that one.
enum class Saves : uint8_t { nothing, input, output };

// One struct per function: value(x, p), and derivative(x, y, p) with y = value(x, p).
struct Neg {
  static constexpr Saves kSaves = Saves::nothing;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return -x;
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T, T, T) {
    return T(-1);
  }
};

struct Abs {
  static constexpr Saves kSaves = Saves::input;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return std::fabs(x);
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T x, T, T) {
    return x > T(0) ? T(1) : (x < T(0) ? T(-1) : T(0));
  }
};

struct Exp {
  static constexpr Saves kSaves = Saves::output;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return scalar::exp(x);
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T, T y, T) {
    return y;
  }
};

struct Log {
  static constexpr Saves kSaves = Saves::input;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return std::log(x);
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T x, T, T) {
    return T(1) / x;
  }
};

struct Sqrt {
  static constexpr Saves kSaves = Saves::output;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return std::sqrt(x);
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T, T y, T) {
    return T(0.5) / y;
  }
};

struct Rsqrt {
  static constexpr Saves kSaves = Saves::output;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return T(1) / std::sqrt(x);
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T, T y, T) {
    return T(-0.5) * y * y * y;
  }
};

struct Square {
  static constexpr Saves kSaves = Saves::input;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return x * x;
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T x, T, T) {
    return T(2) * x;
  }
};

struct Reciprocal {
  static constexpr Saves kSaves = Saves::output;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return T(1) / x;
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T, T y, T) {
    return -y * y;
  }
};

struct Sin {
  static constexpr Saves kSaves = Saves::input;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return std::sin(x);
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T x, T, T) {
    return std::cos(x);
  }
};

struct Cos {
  static constexpr Saves kSaves = Saves::input;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return std::cos(x);
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T x, T, T) {
    return -std::sin(x);
  }
};

struct Tanh {
  static constexpr Saves kSaves = Saves::output;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return scalar::tanh(x);
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T, T y, T) {
    return T(1) - y * y;
  }
};

struct Sigmoid {
  static constexpr Saves kSaves = Saves::output;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return scalar::sigmoid(x);
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T, T y, T) {
    return y * (T(1) - y);
  }
};

struct Relu {
  static constexpr Saves kSaves = Saves::output;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return x < T(0) ? T(0) : x;
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T, T y, T) {
    return y > T(0) ? T(1) : T(0);
  }
};

struct Silu {
  static constexpr Saves kSaves = Saves::input;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return x * scalar::sigmoid(x);
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T x, T, T) {
    return scalar::silu_derivative(x);
  }
};

struct Gelu {  // x * Phi(x), with the normal distribution function Phi
  static constexpr Saves kSaves = Saves::input;
  template <typename T>
  TAPIR_HOST_DEVICE static T phi(T x) {
    return T(0.5) * (T(1) + scalar::erf(x * T(scalar::kSqrtHalf)));
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return x * phi(x);
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T x, T, T) {
    return phi(x) + x * T(scalar::kInvSqrt2Pi) * scalar::exp(T(-0.5) * x * x);
  }
};

struct GeluTanh {
  static constexpr Saves kSaves = Saves::input;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return T(0.5) * x * (T(1) + scalar::gelu_inner(x));
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T x, T, T) {
    const T t = scalar::gelu_inner(x);
    const T inner = T(scalar::kSqrt2OverPi) * (T(1) + T(3 * scalar::kGeluCubic) * x * x);
    return T(0.5) * (T(1) + t) + T(0.5) * x * (T(1) - t * t) * inner;
  }
};

struct Erf {
  static constexpr Saves kSaves = Saves::input;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T) {
    return scalar::erf(x);
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T x, T, T) {
    return T(scalar::kTwoOverSqrtPi) * scalar::exp(-x * x);
  }
};

struct PowScalar {
  static constexpr Saves kSaves = Saves::input;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T p) {
    return std::pow(x, p);
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T x, T, T p) {
    return p == T(0) ? T(0) : p * std::pow(x, p - T(1));
  }
};

struct AddScalar {
  static constexpr Saves kSaves = Saves::nothing;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T p) {
    return x + p;
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T, T, T) {
    return T(1);
  }
};

struct MulScalar {
  static constexpr Saves kSaves = Saves::nothing;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T p) {
    return x * p;
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T, T, T p) {
    return p;
  }
};

struct ClampMin {
  static constexpr Saves kSaves = Saves::input;
  template <typename T>
  TAPIR_HOST_DEVICE static T value(T x, T p) {
    return x < p ? p : x;
  }
  template <typename T>
  TAPIR_HOST_DEVICE static T derivative(T x, T, T p) {
    return x < p ? T(0) : T(1);
  }
};

// Calls `body.template operator()<Exp>()` for UnaryOp::exp, and so on.
template <typename Body>
decltype(auto) dispatch_unary(UnaryOp op, Body&& body) {
  switch (op) {
    case UnaryOp::neg:
      return body.template operator()<Neg>();
    case UnaryOp::abs:
      return body.template operator()<Abs>();
    case UnaryOp::exp:
      return body.template operator()<Exp>();
    case UnaryOp::log:
      return body.template operator()<Log>();
    case UnaryOp::sqrt:
      return body.template operator()<Sqrt>();
    case UnaryOp::rsqrt:
      return body.template operator()<Rsqrt>();
    case UnaryOp::square:
      return body.template operator()<Square>();
    case UnaryOp::reciprocal:
      return body.template operator()<Reciprocal>();
    case UnaryOp::sin:
      return body.template operator()<Sin>();
    case UnaryOp::cos:
      return body.template operator()<Cos>();
    case UnaryOp::tanh:
      return body.template operator()<Tanh>();
    case UnaryOp::sigmoid:
      return body.template operator()<Sigmoid>();
    case UnaryOp::relu:
      return body.template operator()<Relu>();
    case UnaryOp::silu:
      return body.template operator()<Silu>();
    case UnaryOp::gelu:
      return body.template operator()<Gelu>();
    case UnaryOp::gelu_tanh:
      return body.template operator()<GeluTanh>();
    case UnaryOp::erf:
      return body.template operator()<Erf>();
    case UnaryOp::pow_scalar:
      return body.template operator()<PowScalar>();
    case UnaryOp::add_scalar:
      return body.template operator()<AddScalar>();
    case UnaryOp::mul_scalar:
      return body.template operator()<MulScalar>();
    case UnaryOp::clamp_min:
      return body.template operator()<ClampMin>();
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
    case BinaryOp::add:
      return a + b;
    case BinaryOp::sub:
      return a - b;
    case BinaryOp::mul:
      return a * b;
    case BinaryOp::div:
      return a / b;
    case BinaryOp::pow:
      return static_cast<T>(std::pow(a, b));
    case BinaryOp::maximum:
      return a > b || a != a ? a : b;
    case BinaryOp::minimum:
      return a < b || a != a ? a : b;
  }
  return a;
}

template <typename T>
TAPIR_HOST_DEVICE bool apply_compare(CompareOp op, T a, T b) {
  switch (op) {
    case CompareOp::eq:
      return a == b;
    case CompareOp::ne:
      return a != b;
    case CompareOp::lt:
      return a < b;
    case CompareOp::le:
      return a <= b;
    case CompareOp::gt:
      return a > b;
    case CompareOp::ge:
      return a >= b;
  }
  return false;
}

}  // namespace tapir
