// Attention of bf16 by tiles, with the tiles in plain C++ and with those of the processor, against
// attention in f64 of the same numbers.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/threads.h"
#include "tests/support/arrays.h"

namespace tapir::twin {
cpu::Bf16Kernels bf16_kernels();
}  // namespace tapir::twin

namespace tapir {
namespace {

using namespace testing;  // arrays.h

struct Sizes {
  int64_t batch, heads, kv_heads, queries, keys, width, value_width;
  bool causal, mask;
};

// On both sides of a tile, a strip and a block of keys; heads that are shared; more keys than
// queries and fewer, so that some queries see nothing.
constexpr Sizes kSizes[] = {
    {1, 1, 1, 16, 16, 32, 32, true, false},   {2, 2, 2, 64, 64, 32, 32, true, false},
    {1, 4, 2, 65, 65, 64, 64, true, false},   {1, 2, 1, 33, 90, 24, 40, true, false},
    {1, 1, 1, 40, 17, 16, 16, true, false},   {2, 2, 1, 31, 300, 80, 48, false, false},
    {1, 1, 1, 300, 300, 64, 64, true, false}, {2, 3, 3, 50, 50, 32, 32, false, true},
    {1, 2, 2, 70, 70, 33, 7, true, true}};

std::string name(const Sizes& s) {
  return fmt::format("{} x {} heads ({}) of {} and {}, {} queries, {} keys, causal {}, mask {}",
                     s.batch, s.heads, s.kv_heads, s.width, s.value_width, s.queries, s.keys,
                     s.causal, s.mask);
}

struct Results {
  std::vector<Array> arrays;  // out, lse, dq, dk, dv
};

// Inputs [B, H, T, D] of which the heads of one token lie side by side, as a model has them.
struct Inputs {
  Sizes sizes;
  std::vector<Array> memory;
  std::vector<View> views;  // q, k, v, the gradient of the output
  Array mask;
  AttentionOptions options;

  explicit Inputs(const Sizes& s)
      : sizes(s), mask({s.batch, s.heads, s.queries, s.keys}, DType::boolean) {
    options.scale = 1 / std::sqrt(static_cast<double>(s.width));
    options.causal = s.causal;
    add(s.heads, s.queries, s.width);
    add(s.kv_heads, s.keys, s.width);
    add(s.kv_heads, s.keys, s.value_width);
    add(s.heads, s.queries, s.value_width);
    for (int64_t i = 0; i < mask.view().numel(); ++i) mask.set(i, i % 7 % 3 == 0 ? 0 : 1);
  }

  void add(int64_t heads, int64_t length, int64_t width) {
    memory.push_back(
        Array::random({sizes.batch, length, heads, width}, DType::bf16, memory.size() + 1));
    View view = memory.back();
    std::swap(view.shape[1], view.shape[2]);
    std::swap(view.strides[1], view.strides[2]);
    views.push_back(view);
  }

  View mask_view() const { return sizes.mask ? mask.view() : View(); }
};

Array as_f64(ConstView x) {
  return Array::of(values(x), x.shape, DType::f64);
}

Results exact(const Inputs& in) {
  std::vector<Array> wide;
  for (const View& view : in.views) wide.push_back(as_f64(view));
  const Sizes& s = in.sizes;
  Results r;
  r.arrays.emplace_back(Shape{s.batch, s.heads, s.queries, s.value_width}, DType::f64);
  r.arrays.emplace_back(Shape{s.batch, s.heads, s.queries}, DType::f64);
  for (int i = 0; i < 3; ++i)
    r.arrays.emplace_back(wide[static_cast<size_t>(i)].view().shape, DType::f64);
  const Backend& backend = *cpu::backend_for(cpu::Isa::avx2);
  backend.attention(wide[0], wide[1], wide[2], in.mask_view(), in.options, r.arrays[0],
                    r.arrays[1]);
  backend.attention_backward(wide[3], wide[0], wide[1], wide[2], in.mask_view(), r.arrays[0],
                             r.arrays[1], in.options, r.arrays[2], r.arrays[3], r.arrays[4]);
  return r;
}

Results attend(const Inputs& in, const cpu::Bf16Kernels& kernels) {
  const Sizes& s = in.sizes;
  Results r;
  r.arrays.emplace_back(Shape{s.batch, s.heads, s.queries, s.value_width}, DType::bf16);
  r.arrays.emplace_back(Shape{s.batch, s.heads, s.queries}, DType::f32);
  for (int i = 0; i < 3; ++i)
    r.arrays.emplace_back(in.views[static_cast<size_t>(i)].shape, DType::bf16);
  const ConstView q = in.views[0], k = in.views[1], v = in.views[2], grad = in.views[3];
  kernels.attention(q, k, v, in.mask_view(), in.options, r.arrays[0], r.arrays[1]);
  kernels.attention_backward(grad, q, k, v, in.mask_view(), r.arrays[0], r.arrays[1], in.options,
                             r.arrays[2], r.arrays[3], r.arrays[4]);
  return r;
}

// Weights, outputs and gradients of scores are rounded to bf16, each by 2^-8 at most, before they
// are summed up or written; what is off has no direction, so that sums are off by little more,
// relative to the largest element. A gradient of scores is a difference, with delta rounded
// besides.
void expect_near(const Results& actual, const Results& expected, const std::string& what) {
  constexpr const char* kNames[] = {"out", "lse", "dq", "dk", "dv"};
  constexpr double kTolerance[] = {2 * 0x1p-8, 1e-4, 4 * 0x1p-8, 4 * 0x1p-8, 2 * 0x1p-8};
  for (size_t i = 0; i < 5; ++i) {
    const std::vector<double> x = values(actual.arrays[i]), y = values(expected.arrays[i]);
    double largest = 1;
    for (const double value : y)
      if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
    for (size_t j = 0; j < y.size(); ++j) {
      if (x[j] == y[j]) continue;  // infinities too
      ASSERT_LE(std::fabs(x[j] - y[j]), kTolerance[i] * largest)
          << what << ": " << kNames[i] << " element " << j << " is " << x[j] << ", not " << y[j];
    }
  }
}

TEST(Bf16Attention, IsNearThatOfF64) {
  for (const Sizes& sizes : kSizes) {
    const Inputs in(sizes);
    expect_near(attend(in, twin::bf16_kernels()), exact(in), name(sizes));
  }
}

TEST(Bf16Attention, AnyNumberOfThreadsGivesTheSameBits) {
  const int before = cpu::threads();
  for (const Sizes& sizes : kSizes) {
    const Inputs in(sizes);
    std::vector<std::vector<std::byte>> one;
    for (const int threads : {1, 2, 5}) {
      cpu::set_threads(threads);
      const Results results = attend(in, twin::bf16_kernels());
      for (size_t i = 0; i < results.arrays.size(); ++i) {
        if (threads == 1) one.push_back(results.arrays[i].bytes());
        EXPECT_EQ(results.arrays[i].bytes(), one[i]) << name(sizes) << ", array " << i;
      }
    }
  }
  cpu::set_threads(before);
}

TEST(Bf16Attention, OfTheProcessorIsNearThatOfF64) {
#ifdef TAPIR_WITH_AMX
  if (!cpu::features().amx) GTEST_SKIP() << "no AMX on this processor";
  for (const Sizes& sizes : kSizes) {
    const Inputs in(sizes);
    expect_near(attend(in, amx::bf16_kernels()), exact(in), name(sizes));
  }
#else
  GTEST_SKIP() << "no AMX in this build";
#endif
}

// The backend chooses: few queries or keys do not fill tiles.
TEST(Bf16Attention, IsChosenByShape) {
  const auto with = avx2::make_cpu_backend(cpu::Isa::avx2, twin::bf16_kernels());
  const auto without = avx2::make_cpu_backend(cpu::Isa::avx2, {});
  for (const int64_t queries : {15, 16}) {
    const Inputs in({1, 1, 1, queries, 20, 32, 32, true, false});
    std::vector<std::vector<std::byte>> results;
    for (const Backend* backend : {with.get(), without.get()}) {
      const Array out({1, 1, queries, 32}, DType::bf16), lse({1, 1, queries}, DType::f32);
      backend->attention(in.views[0], in.views[1], in.views[2], {}, in.options, out, lse);
      results.push_back(lse.bytes());
    }
    const Results twin = attend(in, twin::bf16_kernels());
    EXPECT_EQ(results[0], queries < 16 ? results[1] : twin.arrays[1].bytes()) << queries;
  }
}

}  // namespace
}  // namespace tapir
