// Element types, the two 16-bit floats, and the switch from a runtime dtype to a C++ type.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "backends/error.h"

namespace tapir {

enum class DType : uint8_t { f64, f32, bf16, f16, i32, boolean };

// bfloat16: the upper half of an f32. Conversion rounds to nearest, ties to even.
struct bf16 {
  uint16_t bits = 0;

  bf16() = default;
  explicit bf16(float value) {
    uint32_t u = std::bit_cast<uint32_t>(value);
    // Rounding could turn a NaN's payload into infinity, so a NaN is made quiet instead.
    const bool nan = (u & 0x7fffffffu) > 0x7f800000u;
    bits = static_cast<uint16_t>(nan ? (u >> 16) | 0x40u : (u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

// IEEE 754 binary16. Conversion rounds to nearest, ties to even, and keeps subnormals.
struct f16 {
  uint16_t bits = 0;

  f16() = default;
  explicit f16(float value) : bits(static_cast<uint16_t>(from_float(value))) {}
  explicit operator float() const { return to_float(bits); }

 private:
  static uint32_t from_float(float value) {
    const uint32_t u = std::bit_cast<uint32_t>(value);
    const uint32_t sign = (u >> 16) & 0x8000u, magnitude = u & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // rounds to infinity
    if (magnitude < 0x38800000u) {                        // subnormal or zero
      // Adding 0.5 aligns the last kept bit with f32's last bit, so the addition does the rounding.
      const float aligned = std::bit_cast<float>(magnitude) + 0.5f;
      return sign | (std::bit_cast<uint32_t>(aligned) - 0x3f000000u);
    }
    const uint32_t odd = (magnitude >> 13) & 1u;
    return sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13);
  }
  static float to_float(uint32_t h) {
    const uint32_t sign = (h & 0x8000u) << 16, magnitude = h & 0x7fffu;
    if (magnitude >= 0x7c00u)
      return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
    if (magnitude < 0x400u) {
      const float value = static_cast<float>(magnitude) * 5.9604644775390625e-8f;  // 2^-24
      return sign ? -value : value;
    }
    return std::bit_cast<float>(sign | ((magnitude << 13) + 0x38000000u));
  }
};

constexpr size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 8;
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::bf16:
    case DType::f16:
      return 2;
    case DType::boolean:
      return 1;
  }
  return 0;
}

constexpr std::string_view name_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return "f64";
    case DType::f32:
      return "f32";
    case DType::bf16:
      return "bf16";
    case DType::f16:
      return "f16";
    case DType::i32:
      return "i32";
    case DType::boolean:
      return "bool";
  }
  return "?";
}

constexpr bool is_floating(DType dtype) {
  return dtype < DType::i32;
}

// The dtype with that name; an unknown name is an Error that lists the legal ones.
DType parse_dtype(std::string_view name);

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::f64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<bf16> {
  static constexpr DType value = DType::bf16;
};
template <>
struct DTypeOf<f16> {
  static constexpr DType value = DType::f16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};
template <typename T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

// The type that sums and row statistics of T are kept in: f32 for the 16-bit floats.
template <typename T>
using Accum = std::conditional_t<std::is_same_v<T, bf16> || std::is_same_v<T, f16>, float, T>;

constexpr DType accum_dtype(DType dtype) {
  return dtype == DType::f64 ? DType::f64 : DType::f32;
}

// Calls `body.template operator()<T>()` with the C++ type of a floating dtype.
template <typename Body>
decltype(auto) dispatch_floating(DType dtype, std::string_view op, Body&& body) {
  switch (dtype) {
    case DType::f64:
      return body.template operator()<double>();
    case DType::f32:
      return body.template operator()<float>();
    case DType::bf16:
      return body.template operator()<bf16>();
    case DType::f16:
      return body.template operator()<f16>();
    default:
      fail(op, "needs a floating dtype, got {}; convert with to(DType::f32)", name_of(dtype));
  }
}

// The same for every dtype.
template <typename Body>
decltype(auto) dispatch_all(DType dtype, std::string_view op, Body&& body) {
  switch (dtype) {
    case DType::i32:
      return body.template operator()<int32_t>();
    case DType::boolean:
      return body.template operator()<bool>();
    default:
      return dispatch_floating(dtype, op, std::forward<Body>(body));
  }
}

}  // namespace tapir

template <>
struct fmt::formatter<tapir::DType> : fmt::formatter<std::string_view> {
  auto format(tapir::DType dtype, format_context& context) const {
    return fmt::formatter<std::string_view>::format(tapir::name_of(dtype), context);
  }
};
