// Products made of products of bf16: the kernel for AMX and its twin in plain C++.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/allocator.h"
#include "backends/cpu/threads.h"
#include "backends/matmul_precision.h"
#include "backends/philox.h"
#include "tests/support/arrays.h"
#include "tests/support/expect_error.h"

namespace tapir::twin {
void multiply_bf16(ConstView a, ConstView b, View out, int parts);
}  // namespace tapir::twin

namespace tapir {
namespace {

using namespace testing;  // arrays.h

struct Product {
  int64_t m, n, k;
};

// On both sides of a tile, a strip, a step, a piece of a and a block of terms.
constexpr Product kProducts[] = {{1, 1, 1},      {16, 16, 32},  {17, 33, 31},  {32, 32, 64},
                                 {70, 50, 97},   {48, 130, 33}, {300, 20, 40}, {20, 40, 600},
                                 {70, 40, 1056}, {33, 50, 3000}};

// Operands [m, k] and [k, n], each by rows or by columns.
struct Operands {
  Array a, b;
  bool a_turned, b_turned;

  Operands(const Product& p, int layout, DType dtype = DType::f32)
      : a(Array::random((layout & 1) != 0 ? Shape{p.k, p.m} : Shape{p.m, p.k}, dtype, 1)),
        b(Array::random((layout & 2) != 0 ? Shape{p.n, p.k} : Shape{p.k, p.n}, dtype, 2)),
        a_turned((layout & 1) != 0),
        b_turned((layout & 2) != 0) {}

  View left() const { return a_turned ? transposed(a.view()) : a.view(); }
  View right() const { return b_turned ? transposed(b.view()) : b.view(); }
};

std::string name(const Product& p, int layout, int parts) {
  return fmt::format("{}x{}x{} layout {}, {} parts", p.m, p.n, p.k, layout, parts);
}

// In f64, and the sums of the magnitudes of the products.
struct Exact {
  std::vector<double> sums, magnitudes;

  Exact(ConstView a, ConstView b) {
    const int64_t m = a.size(0), k = a.size(1), n = b.size(1);
    const std::vector<double> x = values(a), y = values(b);
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0, magnitude = 0;
        for (int64_t l = 0; l < k; ++l) {
          const double product =
              x[static_cast<size_t>(i * k + l)] * y[static_cast<size_t>(l * n + j)];
          sum += product;
          magnitude += std::fabs(product);
        }
        sums.push_back(sum);
        magnitudes.push_back(magnitude);
      }
    }
  }
};

// Rounding to bf16, of 8 bits, changes a number by at most 2^-8 of it. So do two roundings, of both
// operands; of two parts, each number is off by 2^-16 at most, and the product of the second parts
// that is left out is as small. Sums of k terms in f32 add k 2^-24.
double bound(int parts, int64_t k) {
  return (parts == 1 ? 2.02 * std::exp2(-8) : 3.02 * std::exp2(-16)) +
         static_cast<double>(k) * std::exp2(-24);
}

TEST(Bf16Product, EveryLayoutKeepsItsBound) {
  for (const Product& p : kProducts) {
    for (int layout = 0; layout < 4; ++layout) {
      const Operands in(p, layout);
      const Exact exact(in.left(), in.right());
      for (const int parts : {1, 2}) {
        const Array out({p.m, p.n}, DType::f32);
        twin::multiply_bf16(in.left(), in.right(), out, parts);
        for (int64_t i = 0; i < p.m * p.n; ++i) {
          const auto at = static_cast<size_t>(i);
          ASSERT_LE(std::fabs(element(out, i) - exact.sums[at]),
                    bound(parts, p.k) * exact.magnitudes[at])
              << name(p, layout, parts) << " element " << i;
        }
      }
    }
  }
}

// Products of bf16 are exact in f32, so that only sums are rounded; a result of bf16 is the one of
// f32, rounded.
TEST(Bf16Product, OfTensorsOfBf16RoundsSumsOnly) {
  for (const Product& p : kProducts) {
    for (int layout = 0; layout < 4; ++layout) {
      const Operands in(p, layout, DType::bf16);
      const Exact exact(in.left(), in.right());
      const Array out({p.m, p.n}, DType::f32), rounded({p.m, p.n}, DType::bf16);
      twin::multiply_bf16(in.left(), in.right(), out, 1);
      twin::multiply_bf16(in.left(), in.right(), rounded, 1);
      for (int64_t i = 0; i < p.m * p.n; ++i) {
        const auto at = static_cast<size_t>(i);
        ASSERT_LE(std::fabs(element(out, i) - exact.sums[at]),
                  static_cast<double>(p.k) * std::exp2(-24) * exact.magnitudes[at])
            << name(p, layout, 1) << " element " << i;
        ASSERT_EQ(element(rounded, i), static_cast<float>(bf16(out.view().as<float>()[i])))
            << name(p, layout, 1) << " element " << i;
      }
    }
  }
}

// Rows that fill lines of the cache are read where they are, others are packed.
TEST(Bf16Product, RowsInPlaceAndPackedGiveTheSameBits) {
  for (const Product& p : {Product{32, 32, 64}, Product{70, 40, 1056}, Product{100, 33, 80}}) {
    const Operands in(p, 2, DType::bf16);
    const int64_t step = (p.k + 31) / 32 * 32;
    const cpu::Scratch<bf16> memory(p.m * step + 1);
    std::vector<std::vector<std::byte>> results;
    for (const int64_t offset : {0, 1}) {
      const View left{memory.data() + offset, DType::bf16, {p.m, p.k}, {step, 1}};
      for (int64_t i = 0; i < p.m; ++i)
        std::copy_n(in.a.view().as<bf16>() + i * p.k, p.k, left.as<bf16>() + i * step);
      const Array out({p.m, p.n}, DType::bf16);
      twin::multiply_bf16(left, in.right(), out, 1);
      results.push_back(out.bytes());
    }
    EXPECT_EQ(results[0], results[1]) << name(p, 2, 1);
  }
}

// Of small whole numbers every product and every sum is exact.
TEST(Bf16Product, WholeNumbersAreExact) {
  Operands in({40, 70, 90}, 2);
  for (const Array* x : {&in.a, &in.b})
    for (int64_t i = 0; i < x->view().numel(); ++i)
      x->view().as<float>()[i] = std::round(x->view().as<float>()[i] * 3);
  for (const int parts : {1, 2}) {
    const Array out({40, 70}, DType::f32);
    twin::multiply_bf16(in.left(), in.right(), out, parts);
    EXPECT_EQ(values(out), Exact(in.left(), in.right()).sums) << parts;
  }
}

TEST(Bf16Product, NumbersBelowTheNormalOnesAreZero) {
  const auto product = [](double x, double y) {
    const Array a = Array::of({x}, {1, 1}, DType::f32), b = Array::of({y}, {1, 1}, DType::f32);
    const Array out({1, 1}, DType::f32);
    twin::multiply_bf16(a, b, out, 2);
    return element(out, 0);
  };
  EXPECT_EQ(product(0x1p-126, 1), 0x1p-126);
  EXPECT_EQ(product(0x1p-127, 1), 0);    // an operand
  EXPECT_EQ(product(0x1p-126, 0.5), 0);  // a result
  EXPECT_EQ(product(0x1p-100, 0x1p-26), 0x1p-126);
}

TEST(Bf16Product, NansAndInfinitiesAreNotHidden) {
  for (const double special : {kNan, kInfinity, -kInfinity, 3.4e38}) {
    for (const int parts : {1, 2}) {
      Operands in({5, 20, 40}, 2);
      in.a.set(2 * 40 + 7, special);
      in.b.set(3 * 40 + 9, special);
      const Array out({5, 20}, DType::f32);
      twin::multiply_bf16(in.left(), in.right(), out, parts);
      for (int64_t i = 0; i < 100; ++i) {
        EXPECT_EQ(std::isfinite(element(out, i)), i / 20 != 2 && i % 20 != 3)
            << special << " " << i;
      }
    }
  }
}

TEST(Bf16Product, AnyNumberOfThreadsGivesTheSameBits) {
  const int before = cpu::threads();
  for (const Product& p : kProducts) {
    const Operands in(p, 3);
    std::vector<std::byte> one_thread;
    for (const int threads : {1, 2, 3, 16}) {
      cpu::set_threads(threads);
      const Array out({p.m, p.n}, DType::f32);
      twin::multiply_bf16(in.left(), in.right(), out, 2);
      if (threads == 1) one_thread = out.bytes();
      EXPECT_EQ(out.bytes(), one_thread) << name(p, 3, 2) << ", " << threads << " threads";
    }
  }
  cpu::set_threads(before);
}

// Null where this build has none.
auto amx_product() {
#ifdef TAPIR_WITH_AMX
  return amx::bf16_kernels().product;
#else
  return cpu::Bf16Kernels().product;
#endif
}

// The processor's tiles against the twin's.
class Hardware : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!cpu::features().amx || amx_product() == nullptr)
      GTEST_SKIP() << "no AMX in this build, or on this processor";
  }

  // Equal bits, except that any NaN will do for a NaN.
  static void expect_same(ConstView a, ConstView b, int parts, const std::string& what) {
    const Shape shape{a.size(0), b.size(1)};
    const Array expected(shape, DType::f32), actual(shape, DType::f32);
    twin::multiply_bf16(a, b, expected, parts);
    amx_product()(a, b, actual, parts);
    for (int64_t i = 0; i < numel(shape); ++i) {
      const float x = expected.view().as<float>()[i], y = actual.view().as<float>()[i];
      ASSERT_TRUE(std::isnan(x) ? std::isnan(y) : std::memcmp(&x, &y, sizeof(x)) == 0)
          << what << " element " << i << ": " << y << " instead of " << x;
    }
  }
};

TEST_F(Hardware, HasTheBitsOfTheTwin) {
  for (const Product& p : kProducts) {
    for (int layout = 0; layout < 4; ++layout) {
      const Operands in(p, layout);
      for (const int parts : {1, 2})
        expect_same(in.left(), in.right(), parts, name(p, layout, parts));
      const Operands halves(p, layout, DType::bf16);
      expect_same(halves.left(), halves.right(), 1, name(p, layout, 1) + " of bf16");
      const Array expected({p.m, p.n}, DType::bf16), actual({p.m, p.n}, DType::bf16);
      twin::multiply_bf16(halves.left(), halves.right(), expected, 1);
      amx_product()(halves.left(), halves.right(), actual, 1);
      EXPECT_EQ(actual.bytes(), expected.bytes()) << name(p, layout, 1) << " to bf16";
    }
  }
}

// Every bit pattern may occur, or those whose products are at the edge of the normal numbers.
TEST_F(Hardware, HasTheBitsOfTheTwinForAnyNumbers) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const Operands in({20, 20, 70}, 0);
    uint64_t index = 0;
    for (const Array* x : {&in.a, &in.b}) {
      for (int64_t i = 0; i < x->view().numel(); ++i) {
        const PhiloxBlock random = philox(seed, index++);
        const uint32_t exponent = seed % 2 == 0 ? random.word[1] % 256 : 60 + random.word[1] % 8;
        const uint32_t bits = (random.word[0] & 0x807fffffu) | exponent << 23;
        std::memcpy(x->view().as<float>() + i, &bits, sizeof(bits));
      }
    }
    for (const int parts : {1, 2})
      expect_same(in.left(), in.right(), parts, fmt::format("seed {}, {} parts", seed, parts));
  }
}

// The backend chooses by dtype, shape and precision.
class Precision : public ::testing::Test {
 protected:
  ~Precision() override { set_matmul_precision(MatmulPrecision::highest); }

  std::vector<std::byte> product(const Operands& in, MatmulPrecision precision,
                                 const Backend& backend) const {
    set_matmul_precision(precision);
    const Array out({in.left().size(0), in.right().size(1)}, in.a.view().dtype);
    backend.matmul(in.left(), in.right(), out);
    return out.bytes();
  }
  static std::vector<std::byte> twin_product(const Operands& in, int parts) {
    const Array out({in.left().size(0), in.right().size(1)}, DType::f32);
    twin::multiply_bf16(in.left(), in.right(), out, parts);
    return out.bytes();
  }

  const std::unique_ptr<const Backend> with_ =
      avx2::make_cpu_backend(cpu::Isa::avx2, {twin::multiply_bf16});
  const std::unique_ptr<const Backend> without_ = avx2::make_cpu_backend(cpu::Isa::avx2, {});
};

TEST_F(Precision, ChoosesTheProducts) {
  const Operands in({40, 50, 60}, 2);
  EXPECT_EQ(matmul_precision(), MatmulPrecision::highest);
  const auto f32 = product(in, MatmulPrecision::highest, *without_);
  EXPECT_EQ(product(in, MatmulPrecision::highest, *with_), f32);
  EXPECT_EQ(product(in, MatmulPrecision::high, *with_), twin_product(in, 2));
  EXPECT_EQ(product(in, MatmulPrecision::medium, *with_), twin_product(in, 1));
  // Nothing is gained without AMX.
  EXPECT_EQ(product(in, MatmulPrecision::high, *without_), f32);
  EXPECT_EQ(product(in, MatmulPrecision::medium, *without_), f32);
}

// Of 1024 terms and more the errors of two parts stay below 8 times those of f32 that is summed up
// one term after the other.
TEST(Bf16Product, TwoPartsComeNearToF32InLongSums) {
  for (const int64_t terms : {1024, 4096}) {
    const Operands in({64, 64, terms}, 2);
    const Exact exact(in.left(), in.right());
    const Array out({64, 64}, DType::f32);
    twin::multiply_bf16(in.left(), in.right(), out, 2);
    const auto* a = in.a.view().as<float>();
    const auto* b = in.b.view().as<float>();
    double error = 0, f32_error = 0;
    for (int64_t i = 0; i < 64 * 64; ++i) {
      float sum = 0;
      for (int64_t l = 0; l < terms; ++l)
        sum = std::fma(a[i / 64 * terms + l], b[i % 64 * terms + l], sum);
      const double expected = exact.sums[static_cast<size_t>(i)];
      error = std::max(error, std::fabs(element(out, i) - expected));
      f32_error = std::max(f32_error, std::fabs(sum - expected));
    }
    EXPECT_LT(error, 8 * f32_error) << terms << " terms";
  }
}

TEST_F(Precision, SmallProductsAndOtherTypesStay) {
  for (const Product& p : {Product{7, 300, 300}, Product{300, 7, 300}, Product{16, 16, 16}}) {
    const Operands in(p, 0);
    EXPECT_EQ(product(in, MatmulPrecision::high, *with_),
              product(in, MatmulPrecision::highest, *with_));
  }
  for (const DType dtype : {DType::f64, DType::f16}) {
    const Operands in({40, 50, 60}, 2, dtype);
    EXPECT_EQ(product(in, MatmulPrecision::medium, *with_),
              product(in, MatmulPrecision::highest, *with_));
  }
}

TEST_F(Precision, TensorsOfBf16UseThemAlways) {
  const Operands in({40, 50, 60}, 2, DType::bf16);
  const Array expected({40, 50}, DType::bf16), sums({40, 50}, DType::f32);
  twin::multiply_bf16(in.left(), in.right(), sums, 1);
  with_->copy(sums, expected);
  EXPECT_EQ(product(in, MatmulPrecision::highest, *with_), expected.bytes());
}

TEST_F(Precision, BatchesAndStridedResults) {
  set_matmul_precision(MatmulPrecision::high);
  const Array a = Array::random({3, 40, 33}, DType::f32, 3);
  const Array b = Array::random({3, 33, 45}, DType::f32, 4);
  const Array out({3, 40, 50}, DType::f32);
  View part = out;
  part.shape[2] = 45;
  View one = b;
  one.strides[0] = 0;
  for (const View& right : {b.view(), one}) {
    with_->matmul(a, right, part);
    for (int64_t index = 0; index < 3; ++index) {
      const auto matrix = [index](const View& x) {
        return View{x.as<float>() + index * x.strides[0],
                    DType::f32,
                    {x.shape[1], x.shape[2]},
                    {x.strides[1], x.strides[2]}};
      };
      const Array expected({40, 45}, DType::f32);
      twin::multiply_bf16(matrix(a), matrix(right), expected, 2);
      EXPECT_EQ(values(matrix(part)), values(expected)) << index;
    }
    for (int64_t i = 0; i < out.view().numel(); ++i) {
      if (i % 50 >= 45) {
        ASSERT_EQ(element(out, i), 0);
      }
    }
  }
}

TEST(MatmulPrecision, Names) {
  for (const auto precision :
       {MatmulPrecision::highest, MatmulPrecision::high, MatmulPrecision::medium})
    EXPECT_EQ(parse_matmul_precision(name_of(precision)), precision);
  expect_error([] { parse_matmul_precision("double"); },
               {"matmul precision: there is no 'double'", "highest, high, medium"});
}

}  // namespace
}  // namespace tapir
