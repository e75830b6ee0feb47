// Kernels for weights of fewer bits, on every kind of processor and on the CUDA device, against
// products in f64 with bounds that follow from the rounding.
#include <cmath>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#include "backends/compressed_matrix.h"
#include "backends/cpu/threads.h"
#include "backends/registry.h"
#include "tests/support/arrays.h"
#include "tests/support/lent.h"

namespace tapir {
namespace {

using namespace testing;  // arrays.h

// Tests run on the CPU with the kernels for an instruction set, and on the CUDA device, which has
// no such.
using Kernels = std::optional<cpu::Isa>;

class CompressedKernels : public ::testing::TestWithParam<Kernels> {
 protected:
  void SetUp() override {
    if (const Kernels isa = GetParam()) {
      backend_ = *isa <= cpu::best_of(cpu::features()) ? cpu::backend_for(*isa) : nullptr;
      if (backend_ == nullptr) GTEST_SKIP() << "not in this build, or not on this processor";
      return;
    }
    std::string reason;
    if (is_available(kCuda, &reason)) {
      backend_ = &tapir::backend(kCuda);
      return;
    }
    ASSERT_EQ(std::getenv("TAPIR_EXPECT_CUDA"), nullptr) << reason;
    GTEST_SKIP() << reason;
  }
  const Backend& backend() const { return *backend_; }
  void product(ConstView x, const CompressedMatrix& w, View out) const {
    const LentView there(backend(), out);
    backend().compressed_product(LentView(backend(), x), LentMatrix(backend(), w), there);
  }

 private:
  const Backend* backend_ = nullptr;
};

constexpr int64_t kGroup = CompressedMatrix::kGroup;
// Half of the distance from 1 to the next number.
constexpr double kHalfUlpF32 = 1.0 / (1 << 24), kHalfUlpBf16 = 1.0 / (1 << 8);

// A compressed matrix with its memory, which ends where its elements end.
struct Compressed {
  std::vector<uint16_t> numbers;
  std::vector<int8_t> integers;
  std::vector<bf16> scales;
  CompressedMatrix matrix;

  Compressed(const Backend& backend, const Array& w, Compression compression)
      : matrix{compression, w.view().size(0), w.view().size(1)} {
    numbers.resize(matrix.value_bytes() / 2);
    integers.resize(matrix.value_bytes());
    scales.resize(matrix.scale_bytes() / sizeof(bf16));
    const bool wide = compression == Compression::bf16;
    matrix.values = wide ? static_cast<void*>(numbers.data()) : integers.data();
    matrix.scales = scales.data();
    backend.compress(LentView(backend, w), LentMatrix(backend, matrix));
  }

  // What it stands for, by the definition.
  double value(int64_t row, int64_t column) const {
    const auto i = static_cast<size_t>(row * matrix.columns + column);
    if (matrix.compression == Compression::bf16) {
      bf16 number;
      number.bits = numbers[i];
      return static_cast<double>(static_cast<float>(number));
    }
    return static_cast<double>(static_cast<float>(scales[i / kGroup])) * integers[i];
  }
};

// Rows of very different sizes, a group of zeros, and one with a single large number.
Array weights(int64_t rows, int64_t columns) {
  Array w = Array::random({rows, columns}, DType::f32, 1);
  for (int64_t i = 0; i < rows * columns; ++i) {
    const int64_t row = i / columns;
    w.set(i, element(w, i) * std::pow(10.0, static_cast<double>(row % 5) - 2));
  }
  for (int64_t l = 0; l < std::min(kGroup, columns); ++l) w.set(l, 0);
  w.set(rows * columns - 1, 1000);
  return w;
}

TEST_P(CompressedKernels, Bf16RoundsToTheNearest) {
  const Array w = weights(7, 45);
  const Compressed c(backend(), w, Compression::bf16);
  for (int64_t i = 0; i < 7 * 45; ++i) {
    const double x = element(w, i);
    EXPECT_LE(std::fabs(c.value(i / 45, i % 45) - x), kHalfUlpBf16 * std::fabs(x)) << i;
  }
}

TEST_P(CompressedKernels, Int8RoundsToTheNearestMultipleOfItsScale) {
  const Array w = weights(9, 96);
  const Compressed c(backend(), w, Compression::int8);
  for (int64_t g = 0; g < 9 * 3; ++g) {
    double largest = 0;
    for (int64_t l = 0; l < kGroup; ++l)
      largest = std::max(largest, std::fabs(element(w, g * kGroup + l)));
    const auto scale = static_cast<double>(static_cast<float>(c.scales[static_cast<size_t>(g)]));
    // Rounded up to bf16, after a division in f32.
    EXPECT_GE(scale, largest / 127 * (1 - kHalfUlpF32));
    EXPECT_LE(scale, largest / 127 * (1 + 2 * kHalfUlpBf16) * (1 + kHalfUlpF32));
    for (int64_t l = 0; l < kGroup; ++l) {
      const int64_t i = g * kGroup + l;
      const double quotient = scale == 0 ? 0 : element(w, i) / scale;
      // The quotient was rounded to f32 first.
      EXPECT_LE(std::fabs(c.integers[static_cast<size_t>(i)] - quotient), 0.5 + 127 * kHalfUlpF32);
      EXPECT_LE(std::abs(c.integers[static_cast<size_t>(i)]), 127);
    }
  }
}

TEST_P(CompressedKernels, RowsAreWhatTheMatrixStandsFor) {
  const Array w = weights(11, 64), ids = Array::of({3, 0, 10, 3}, {4}, DType::i32);
  for (const Compression compression : {Compression::bf16, Compression::int8}) {
    const Compressed c(backend(), w, compression);
    const Array out({4, 64}, DType::f32);
    backend().compressed_rows(LentMatrix(backend(), c.matrix), LentView(backend(), ids),
                              LentView(backend(), out));
    for (int64_t i = 0; i < 4 * 64; ++i) {
      const auto id = static_cast<int64_t>(element(ids, i / 64));
      EXPECT_EQ(element(out, i), static_cast<double>(static_cast<float>(c.value(id, i % 64))));
    }
  }
}

// How far an element of the product may be from the exact one. Sums of k products in f32 are off
// by at most k roundings of the sum of magnitudes; a group of x that the CPU rounds to 16 bits for
// int8 is off by half of its step in each element, with one more rounding of the step and of each
// quotient.
struct Bound {
  double exact = 0, magnitudes = 0, steps = 0;
  int64_t k;
  bool rounds_x;

  Bound(const Compressed& c, ConstView x, int64_t i, int64_t j, bool rounds)
      : k(c.matrix.columns), rounds_x(rounds && c.matrix.compression == Compression::int8) {
    double step = 0;
    for (int64_t l = 0; l < k; ++l) {
      if (rounds_x && l % kGroup == 0) {
        step = 0;
        for (int64_t m = l; m < l + kGroup; ++m)
          step = std::max(step, std::fabs(element(x, i * k + m)) / 32767);
      }
      const double term = c.value(j, l) * element(x, i * k + l);
      exact += term;
      magnitudes += std::fabs(term);
      steps += std::fabs(c.value(j, l)) * step;
    }
  }
  double error() const {
    const double sums = static_cast<double>(k + 4) * kHalfUlpF32 * (magnitudes + steps);
    return sums + (rounds_x ? steps * (0.5 + 2 * 32767 * kHalfUlpF32) : 0.0);
  }
};

// Numbers of vectors on both sides of every decision, and widths with and without remainders.
TEST_P(CompressedKernels, ProductsStayWithinTheirRounding) {
  for (const Compression compression : {Compression::bf16, Compression::int8}) {
    for (const int64_t m : {1, 2, 3, 4, 5, 7, 8, 9, 20}) {
      for (const int64_t k : {32, 96, 544, 45, 7}) {
        if (compression == Compression::int8 && k % kGroup != 0) continue;
        const int64_t n = 37;
        const Compressed c(backend(), weights(n, k), compression);
        const Array x = Array::random({m, k}, DType::f32, 2), out({m, n}, DType::f32);
        product(x, c.matrix, out);
        for (int64_t i = 0; i < m * n; ++i) {
          const Bound bound(c, x, i / n, i % n, m <= 8 && GetParam());
          ASSERT_LE(std::fabs(element(out, i) - bound.exact), bound.error())
              << name_of(compression) << " " << m << "x" << n << "x" << k << " element " << i;
        }
      }
    }
  }
}

// The blocks of many rows: more than 2,048 rows of weights, which is the larger of both devices'.
TEST_P(CompressedKernels, ManyRowsOfManyWeights) {
  const int64_t m = 10, n = 2100, k = 32;
  for (const Compression compression : {Compression::bf16, Compression::int8}) {
    const Compressed c(backend(), weights(n, k), compression);
    const Array x = Array::random({m, k}, DType::f32, 3), out({m, n}, DType::f32);
    product(x, c.matrix, out);
    for (int64_t i = 0; i < m * n; ++i) {
      const Bound bound(c, x, i / n, i % n, false);
      ASSERT_LE(std::fabs(element(out, i) - bound.exact), bound.error()) << i;
    }
  }
}

// Neither other rows of the batch nor the number of threads change the bits of a row.
TEST_P(CompressedKernels, SameBitsAloneInABatchAndWithAnyNumberOfThreads) {
  const int64_t n = 300, k = 320;
  for (const Compression compression : {Compression::bf16, Compression::int8}) {
    const Compressed c(backend(), weights(n, k), compression);
    const Array x = Array::random({8, k}, DType::f32, 4), together({8, n}, DType::f32);
    cpu::set_threads(1);
    product(x, c.matrix, together);
    for (const int threads : {1, 2, 5}) {
      cpu::set_threads(threads);
      for (int64_t row = 0; row < 8; ++row) {
        View one = x;
        one.shape[0] = 1;
        one.data = one.as<float>() + row * k;
        const Array alone({1, n}, DType::f32);
        product(one, c.matrix, alone);
        for (int64_t j = 0; j < n; ++j)
          ASSERT_EQ(element(alone, j), element(together, row * n + j)) << row << " " << j;
      }
    }
  }
  cpu::set_threads(cpu::physical_cores());
}

TEST_P(CompressedKernels, WhatIsNotFiniteStaysSo) {
  for (const Compression compression : {Compression::bf16, Compression::int8}) {
    const Compressed c(backend(), Array::random({20, 64}, DType::f32, 5), compression);
    for (const double bad : {kNan, kInfinity}) {
      Array x = Array::random({2, 64}, DType::f32, 6);
      x.set(64 + 40, bad);
      const Array out({2, 20}, DType::f32);
      product(x, c.matrix, out);
      for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(std::isfinite(element(out, i)), i < 20) << i;
    }
  }
}

std::string kernels_name(const ::testing::TestParamInfo<Kernels>& info) {
  return info.param ? std::string(cpu::name_of(*info.param)) : "cuda";
}

INSTANTIATE_TEST_SUITE_P(Isa, CompressedKernels,
                         ::testing::Values(cpu::Isa::avx2, cpu::Isa::avx512, Kernels()),
                         kernels_name);

}  // namespace
}  // namespace tapir
