#include "backends/dtype.h"

#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"
#include "tests/support/golden.h"

namespace tapir {
namespace {

using testing::expect_error;

// The value of a 16-bit pattern by the definition of the formats, in exact double arithmetic.
double value_of(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1));
  const double fraction = std::ldexp(bits & ((1u << mantissa_bits) - 1), -mantissa_bits);
  if (exponent == (1 << exponent_bits) - 1)
    return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                         : std::numeric_limits<double>::quiet_NaN();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1 + fraction, exponent - bias);
}

template <typename T>
T from_bits(uint32_t bits) {
  T value;
  value.bits = static_cast<uint16_t>(bits);
  return value;
}

template <typename T>
void check_every_pattern(int exponent_bits, int mantissa_bits) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const float widened = static_cast<float>(from_bits<T>(bits));
    const double expected = value_of(bits, exponent_bits, mantissa_bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(widened)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(T(widened)))) << bits;
    } else {
      ASSERT_EQ(static_cast<double>(widened), expected) << bits;
      ASSERT_EQ(T(widened).bits, bits);  // also keeps the sign of zero
    }
  }
}

TEST(DType, WidensEveryBf16AndRoundsItBack) {
  check_every_pattern<bf16>(8, 7);
}

TEST(DType, WidensEveryF16AndRoundsItBack) {
  check_every_pattern<f16>(5, 10);
}

// Between two neighbours the nearer one is taken, and the even one from the middle.
template <typename T>
void check_rounding(uint32_t largest) {
  for (uint32_t bits = 0; bits < largest; ++bits) {
    const double low = static_cast<double>(static_cast<float>(from_bits<T>(bits)));
    const double high = static_cast<double>(static_cast<float>(from_bits<T>(bits + 1)));
    const float middle = static_cast<float>((low + high) / 2);  // exact in f32
    const uint32_t even = bits % 2 == 0 ? bits : bits + 1;
    ASSERT_EQ(T(middle).bits, even) << bits;
    ASSERT_EQ(T(-middle).bits, even | 0x8000u) << bits;
    ASSERT_EQ(T(std::nextafter(middle, 0.0f)).bits, bits);
    ASSERT_EQ(T(std::nextafter(middle, std::numeric_limits<float>::infinity())).bits, bits + 1);
  }
}

TEST(DType, RoundsToNearestEven) {
  check_rounding<bf16>(0x7f7f);  // up to the largest finite number of each
  check_rounding<f16>(0x7bff);
}

TEST(DType, AgreesWithPyTorch) {
  const std::vector<testing::GoldenCase> cases = testing::golden_cases("half");
  ASSERT_EQ(cases.size(), 1u);
  const auto read = [&](const std::string& key) { return cases[0].get(key, DType::i32).to_ints(); };
  const std::vector<int32_t> inputs = read("in.f32_bits");
  const std::vector<int32_t> bf16s = read("out.bf16_bits"), f16s = read("out.f16_bits");
  ASSERT_GT(inputs.size(), 100u);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const float value = std::bit_cast<float>(inputs[i]);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(bf16(value)))) << value;
      EXPECT_TRUE(std::isnan(static_cast<float>(f16(value)))) << value;
    } else {
      EXPECT_EQ(bf16(value).bits, bf16s[i]) << value;
      EXPECT_EQ(f16(value).bits, f16s[i]) << value;
    }
  }
}

#ifdef __FLT16_MANT_DIG__
TEST(DType, AgreesWithTheCompilersF16) {
  // A sample of all floats: every 977th pattern, both signs.
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 977) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(value)) continue;
    ASSERT_EQ(f16(value).bits, std::bit_cast<uint16_t>(static_cast<_Float16>(value))) << value;
  }
}
#endif

TEST(DType, NamesAndSizes) {
  for (const DType dtype :
       {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i32, DType::boolean}) {
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
    dispatch_all(dtype, "test", [&]<typename T>() {
      EXPECT_EQ(sizeof(T), size_of(dtype));
      EXPECT_EQ(dtype_of<T>, dtype);
    });
  }
  EXPECT_TRUE(is_floating(DType::f16));
  EXPECT_FALSE(is_floating(DType::i32));
  EXPECT_FALSE(is_floating(DType::boolean));
  EXPECT_EQ(accum_dtype(DType::f64), DType::f64);
  EXPECT_EQ(accum_dtype(DType::bf16), DType::f32);
}

TEST(DType, Errors) {
  expect_error([] { parse_dtype("float32"); }, {"unknown name 'float32'", "f64, f32, bf16, f16"});
  expect_error([] { dispatch_floating(DType::i32, "softmax", []<typename T>() {}); },
               {"softmax: needs a floating dtype, got i32", "to(DType::f32)"});
}

}  // namespace
}  // namespace tapir
