// Memory for kernel tests: views that own their elements, and naive access to any view.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/instances.h"
#include "backends/random.h"

namespace tapir::testing {

// Values at which arithmetic is special; the lowest and highest of i32.
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kLowest = -2147483648.0, kHighest = 2147483647.0;

// Tests with this fixture run for every set of kernels that build and processor allow.
class EveryIsa : public ::testing::TestWithParam<cpu::Isa> {
 protected:
  void SetUp() override {
    backend_ = GetParam() <= cpu::best_of(cpu::features()) ? cpu::backend_for(GetParam()) : nullptr;
    if (backend_ == nullptr) GTEST_SKIP() << "not in this build, or not on this processor";
  }
  const Backend& backend() const { return *backend_; }

 private:
  const Backend* backend_ = nullptr;
};

inline const auto kEveryIsa = ::testing::Values(cpu::Isa::avx2, cpu::Isa::avx512);
// For tests of products, which alone have kernels for AMX.
inline const auto kEveryProductIsa =
    ::testing::Values(cpu::Isa::avx2, cpu::Isa::avx512, cpu::Isa::amx);

inline std::string isa_name(const ::testing::TestParamInfo<cpu::Isa>& info) {
  return std::string(cpu::name_of(info.param));
}

// The offset of the index-th element in row-major order.
inline int64_t offset_of(const Shape& shape, const Strides& strides, int64_t index) {
  int64_t offset = 0;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    offset += index % shape[axis] * strides[axis];
    index /= shape[axis];
  }
  return offset;
}

// A dense array whose memory ends where its elements end, so that AddressSanitizer sees overruns.
class Array {
 public:
  Array(const Shape& shape, DType dtype)
      : bytes_(new std::byte[static_cast<size_t>(numel(shape)) * size_of(dtype)]()),
        view_{bytes_.get(), dtype, shape, row_major_strides(shape)} {}

  // Standard normal numbers, or small integers for i32.
  static Array random(const Shape& shape, DType dtype, uint64_t seed) {
    Array array(shape, dtype);
    for (int64_t i = 0; i < numel(shape); ++i) {
      const double value = random_element(RandomKind::normal, seed, 0, i, 0);
      array.set(i, dtype == DType::i32 ? std::floor(value * 5) : value);
    }
    return array;
  }

  static Array of(const std::vector<double>& values, const Shape& shape, DType dtype) {
    Array array(shape, dtype);
    for (size_t i = 0; i < values.size(); ++i) array.set(static_cast<int64_t>(i), values[i]);
    return array;
  }

  const View& view() const { return view_; }
  operator View() const { return view_; }
  operator ConstView() const { return view_; }

  void set(int64_t index, double value) {
    dispatch_all(view_.dtype, "test", [&]<typename T>() {
      if constexpr (std::is_same_v<T, bool>) {
        view_.as<T>()[index] = value != 0;
      } else {
        view_.as<T>()[index] = static_cast<T>(static_cast<Accum<T>>(value));
      }
    });
  }

  std::vector<std::byte> bytes() const {
    const size_t size = static_cast<size_t>(view_.numel()) * size_of(view_.dtype);
    return {bytes_.get(), bytes_.get() + size};
  }

 private:
  std::unique_ptr<std::byte[]> bytes_;
  View view_;
};

inline double element(ConstView x, int64_t index) {
  return dispatch_all(x.dtype, "test", [&]<typename T>() {
    const T value = x.as<T>()[offset_of(x.shape, x.strides, index)];
    return static_cast<double>(static_cast<Accum<T>>(value));
  });
}

// All elements in row-major order.
inline std::vector<double> values(ConstView x) {
  std::vector<double> result;
  for (int64_t i = 0; i < x.numel(); ++i) result.push_back(element(x, i));
  return result;
}

// Elements agree to `tolerance` times (1 + the expected magnitude); NaNs only with NaNs.
inline void expect_close(ConstView actual, const std::vector<double>& expected, double tolerance,
                         const std::string& what = "") {
  ASSERT_EQ(actual.numel(), static_cast<int64_t>(expected.size())) << what;
  for (int64_t i = 0; i < actual.numel(); ++i) {
    const double a = element(actual, i), e = expected[static_cast<size_t>(i)];
    if (std::isnan(e)) {
      ASSERT_TRUE(std::isnan(a)) << what << " element " << i;
    } else if (a != e) {
      ASSERT_LE(std::fabs(a - e), tolerance * (1 + std::fabs(e)))
          << what << " element " << i << ": " << a << " instead of " << e;
    }
  }
}

template <typename ViewType>
ViewType transposed(ViewType x) {
  const int last = x.rank() - 1;
  std::swap(x.shape[last], x.shape[last - 1]);
  std::swap(x.strides[last], x.strides[last - 1]);
  return x;
}

// Rounding errors to expect of sums of a few hundred terms near 1.
inline double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-12;
    case DType::f32:
      return 2e-5;
    case DType::f16:
      return 2e-3;
    default:
      return 2e-2;
  }
}

inline constexpr DType kFloats[] = {DType::f64, DType::f32, DType::bf16, DType::f16};

}  // namespace tapir::testing
