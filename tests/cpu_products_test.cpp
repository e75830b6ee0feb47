// Matrix products and attention of the CPU backend against plain loops in f64.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cpu/threads.h"
#include "tests/support/arrays.h"

namespace tapir {
namespace {

using namespace testing;  // arrays.h

using Matmul = EveryIsa;
using Attention = EveryIsa;

std::vector<double> naive_matmul(ConstView a, ConstView b) {
  const int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  const std::vector<double> x = values(a), y = values(b);
  const int64_t batch = m * k == 0 ? 0 : static_cast<int64_t>(x.size()) / (m * k);
  std::vector<double> out;
  for (int64_t i = 0; i < batch * m; ++i) {
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += x[static_cast<size_t>(i * k + l)] * y[static_cast<size_t>((i / m * k + l) * n + j)];
      out.push_back(sum);
    }
  }
  return out;
}

struct Product {
  int64_t m, n, k;
};

// Sizes on both sides of every decision: single rows and columns, one panel and several, products
// that plain loops do, operands read in place and packed in one block and in several, and tiles,
// blocks and panels that do not divide the result.
constexpr Product kProducts[] = {
    {1, 1, 1},       {3, 5, 7},    {1, 70, 40},   {4, 130, 60},   {5, 130, 60},   {8, 130, 45},
    {9, 130, 60},    {70, 1, 40},  {33, 31, 129}, {64, 65, 128},  {130, 97, 70},  {520, 140, 33},
    {200, 250, 130}, {15, 34, 31}, {40, 64, 600}, {90, 40, 1100}, {29, 2080, 17}, {150, 96, 32}};

TEST_P(Matmul, EveryLayoutAndDtype) {
  for (const DType dtype : kFloats) {
    for (const auto& [m, n, k] : kProducts) {
      if (dtype != DType::f32 && m * n * k > 1000000) continue;  // the plain loops take their time
      for (int layout = 0; layout < 4; ++layout) {
        const bool ta = (layout & 1) != 0, tb = (layout & 2) != 0;
        const Array a = Array::random(ta ? Shape{k, m} : Shape{m, k}, dtype, 1);
        const Array b = Array::random(tb ? Shape{n, k} : Shape{k, n}, dtype, 2);
        const View x = ta ? transposed(a.view()) : a.view();
        const View y = tb ? transposed(b.view()) : b.view();
        const Array out({m, n}, dtype);
        backend().matmul(x, y, out);
        expect_close(out, naive_matmul(x, y),
                     tolerance_of(dtype) * std::sqrt(static_cast<double>(k)),
                     fmt::format("{} {}x{}x{} layout {}", dtype, m, n, k, layout));
      }
    }
  }
}

TEST_P(Matmul, BatchesAndBroadcasting) {
  for (const DType dtype : {DType::f64, DType::bf16}) {
    const Array a = Array::random({2, 3, 5, 7}, dtype, 3),
                b = Array::random({2, 3, 7, 4}, dtype, 4);
    const auto check = [&](ConstView x, ConstView y, const std::string& what) {
      const Array out({2, 3, 5, 4}, dtype);
      backend().matmul(x, y, out);
      expect_close(out, naive_matmul(x, y), 3 * tolerance_of(dtype), what);
    };
    const auto repeat = [](View x, std::vector<int> axes) {
      for (const int axis : axes) x.strides[axis] = 0;
      return x;
    };
    check(a, b, "batch");
    check(repeat(a, {0}), b, "a repeated along the first axis");
    check(a, repeat(b, {1}), "b repeated along the second axis");
    check(a, repeat(b, {0, 1}), "one b for all");  // becomes one product with more rows
    check(repeat(a, {0, 1}), b, "one a for all");

    View heads = a;  // [2, 5, 3, 7] seen as [2, 3, 5, 7], as split heads are
    heads.strides = {105, 7, 21, 1};
    check(heads, b, "axes exchanged");
    check(heads, repeat(b, {0, 1}), "axes exchanged, one b");
  }
}

TEST_P(Matmul, StridedResult) {
  const Array a = Array::random({6, 4}, DType::f32, 5), b = Array::random({4, 5}, DType::f32, 6);
  const Array out({6, 9}, DType::f32);
  View part = out;
  part.shape = {6, 5};
  backend().matmul(a, b, part);
  expect_close(part, naive_matmul(a, b), 1e-5);
  for (int64_t i = 0; i < 54; ++i) {
    if (i % 9 >= 5) {
      EXPECT_EQ(element(out, i), 0);
    }
  }
}

TEST_P(Matmul, SlicedOperands) {
  const Array a = Array::random({20, 40}, DType::f32, 7),
              b = Array::random({40, 30}, DType::f32, 8);
  View x = a, y = b;
  x.shape = {10, 33};
  x.strides = {80, 1};  // every other row, some columns
  y.shape = {33, 17};
  const Array out({10, 17}, DType::f32);
  backend().matmul(x, y, out);
  expect_close(out, naive_matmul(x, y), 1e-5);
}

TEST_P(Matmul, AnyNumberOfThreadsGivesTheSameBits) {
  const int before = cpu::threads();
  for (const DType dtype : {DType::f64, DType::f32}) {
    const Array a = Array::random({130, 600}, dtype, 20), b = Array::random({600, 150}, dtype, 21);
    std::vector<double> one_thread;
    for (const int threads : {1, 2, 3, 16}) {
      cpu::set_threads(threads);
      const Array out({130, 150}, dtype);
      backend().matmul(a, b, out);
      if (threads == 1) one_thread = values(out);
      EXPECT_EQ(values(out), one_thread) << name_of(dtype) << ", " << threads << " threads";
    }
  }
  cpu::set_threads(before);
}

TEST_P(Matmul, EmptySizes) {
  for (const DType dtype : {DType::f32, DType::f16}) {
    const Array out = Array::random({3, 4}, dtype, 9);
    backend().matmul(Array({3, 0}, dtype), Array({0, 4}, dtype), out);
    expect_close(out, std::vector<double>(12, 0.0), 0);
    backend().matmul(Array({0, 3}, dtype), Array({3, 4}, dtype), Array({0, 4}, dtype));
    backend().matmul(Array({0, 2, 3}, dtype), Array({0, 3, 4}, dtype), Array({0, 2, 4}, dtype));
  }
}

struct AttentionCase {
  const char* name;
  int64_t batch, heads, kv_heads, queries, keys, width, value_width;
  bool causal;
  bool mask;
};

const AttentionCase kAttention[] = {
    {"plain", 2, 3, 3, 5, 5, 4, 4, false, false},
    {"causal, several query blocks", 1, 1, 1, 130, 130, 8, 8, true, false},
    {"masked", 2, 2, 2, 33, 40, 8, 8, false, true},
    {"causal and masked, several key blocks", 1, 2, 1, 70, 300, 8, 8, true, true},
    {"grouped heads", 2, 6, 2, 9, 9, 4, 4, true, false},
    {"wider values", 1, 2, 2, 7, 8, 4, 11, false, false},
    {"one query", 2, 4, 2, 1, 270, 8, 8, true, false},
    {"fewer keys than queries", 1, 2, 2, 9, 4, 4, 4, true, false},
    {"many blocks", 1, 1, 1, 70, 520, 4, 4, true, false},
    {"no keys", 1, 1, 1, 3, 0, 4, 4, false, false},
    {"no queries", 1, 1, 1, 0, 3, 4, 4, false, false},
};

// Scores and probabilities of one head, by the definition.
struct NaiveAttention {
  const AttentionCase& c;
  double scale;
  std::vector<double> q, k, v, mask;

  int64_t kv(int64_t head) const { return head / (c.heads / c.kv_heads); }
  static size_t at(int64_t i) { return static_cast<size_t>(i); }

  // Row t of head (b, h): P over the keys.
  std::vector<double> probabilities(int64_t b, int64_t h, int64_t t, double* lse) const {
    std::vector<double> p(at(c.keys));
    double sum = 0;
    for (int64_t s = 0; s < c.keys; ++s) {
      double score = 0;
      for (int64_t j = 0; j < c.width; ++j)
        score += q[at(((b * c.heads + h) * c.queries + t) * c.width + j)] *
                 k[at(((b * c.kv_heads + kv(h)) * c.keys + s) * c.width + j)];
      const bool hidden = (c.causal && s > t + c.keys - c.queries) ||
                          (c.mask && mask[at((b * c.queries + t) * c.keys + s)] == 0);
      p[at(s)] = hidden ? 0 : std::exp(scale * score);
      sum += p[at(s)];
    }
    for (double& x : p) x = sum == 0 ? 0 : x / sum;
    *lse = std::log(sum);
    return p;
  }
};

struct AttentionData {
  Array q, k, v, mask;
  AttentionOptions options;

  AttentionData(const AttentionCase& c, DType dtype)
      : q(Array::random({c.batch, c.heads, c.queries, c.width}, dtype, 11)),
        k(Array::random({c.batch, c.kv_heads, c.keys, c.width}, dtype, 12)),
        v(Array::random({c.batch, c.kv_heads, c.keys, c.value_width}, dtype, 13)),
        mask({c.batch, c.queries, c.keys}, DType::boolean),
        options{0.3, c.causal} {
    for (int64_t i = 0; i < mask.view().numel(); ++i) {
      const bool first_row = i < 2 * c.keys;  // nothing seen at all
      mask.set(i, !first_row && random_element(RandomKind::uniform, 14, 0, i, 0) < 0.6);
    }
  }

  // One mask for all heads.
  ConstView mask_view(const AttentionCase& c) const {
    if (!c.mask) return {};
    return {mask.view().data,
            DType::boolean,
            {c.batch, c.heads, c.queries, c.keys},
            {c.queries * c.keys, 0, c.keys, 1}};
  }

  NaiveAttention naive(const AttentionCase& c) const {
    return {c, options.scale, values(q), values(k), values(v), values(mask)};
  }
};

TEST_P(Attention, Forward) {
  for (const DType dtype : kFloats) {
    for (const AttentionCase& c : kAttention) {
      const AttentionData data(c, dtype);
      // Written as [B, T, H, Dv], the layout that merging heads wants.
      const Array out({c.batch, c.queries, c.heads, c.value_width}, dtype);
      View heads = out;
      heads.shape = {c.batch, c.heads, c.queries, c.value_width};
      heads.strides = {c.queries * c.heads * c.value_width, c.value_width, c.heads * c.value_width,
                       1};
      const Array lse({c.batch, c.heads, c.queries}, accum_dtype(dtype));
      backend().attention(data.q, data.k, data.v, data.mask_view(c), data.options, heads, lse);

      const NaiveAttention naive = data.naive(c);
      std::vector<double> expected, expected_lse;
      for (int64_t row = 0; row < c.batch * c.heads * c.queries; ++row) {
        const int64_t t = row % c.queries, h = row / c.queries % c.heads,
                      b = row / c.queries / c.heads;
        double row_lse = 0;
        const std::vector<double> p = naive.probabilities(b, h, t, &row_lse);
        expected_lse.push_back(row_lse);
        for (int64_t j = 0; j < c.value_width; ++j) {
          double sum = 0;
          for (int64_t s = 0; s < c.keys; ++s)
            sum +=
                p[naive.at(s)] *
                naive
                    .v[naive.at(((b * c.kv_heads + naive.kv(h)) * c.keys + s) * c.value_width + j)];
          expected.push_back(sum);
        }
      }
      expect_close(heads, expected, tolerance_of(dtype), c.name);
      // lse is an f32 statistic of the 16-bit floats.
      expect_close(lse, expected_lse, dtype == DType::f64 ? 1e-12 : 1e-5, c.name);
    }
  }
}

struct NaiveGradients {
  std::vector<double> dq, dk, dv;
};

NaiveGradients naive_backward(const AttentionCase& c, const NaiveAttention& n,
                              const std::vector<double>& grad) {
  NaiveGradients g{std::vector<double>(n.q.size()), std::vector<double>(n.k.size()),
                   std::vector<double>(n.v.size())};
  for (int64_t row = 0; row < c.batch * c.heads * c.queries; ++row) {
    const int64_t t = row % c.queries, h = row / c.queries % c.heads, b = row / c.queries / c.heads;
    const int64_t keys_of = (b * c.kv_heads + n.kv(h)) * c.keys;
    double lse = 0, mean = 0;
    const std::vector<double> p = n.probabilities(b, h, t, &lse);
    std::vector<double> dp(n.at(c.keys));  // gradient of the loss in p
    for (int64_t s = 0; s < c.keys; ++s) {
      for (int64_t j = 0; j < c.value_width; ++j) {
        const double out_grad = grad[n.at(row * c.value_width + j)];
        dp[n.at(s)] += out_grad * n.v[n.at((keys_of + s) * c.value_width + j)];
        g.dv[n.at((keys_of + s) * c.value_width + j)] += out_grad * p[n.at(s)];
      }
      mean += dp[n.at(s)] * p[n.at(s)];
    }
    for (int64_t s = 0; s < c.keys; ++s) {
      const double ds = n.scale * p[n.at(s)] * (dp[n.at(s)] - mean);
      for (int64_t j = 0; j < c.width; ++j) {
        g.dq[n.at(row * c.width + j)] += ds * n.k[n.at((keys_of + s) * c.width + j)];
        g.dk[n.at((keys_of + s) * c.width + j)] += ds * n.q[n.at(row * c.width + j)];
      }
    }
  }
  return g;
}

TEST_P(Attention, Backward) {
  for (const DType dtype : kFloats) {
    for (const AttentionCase& c : kAttention) {
      const AttentionData data(c, dtype);
      const Shape out_shape{c.batch, c.heads, c.queries, c.value_width};
      const Array out(out_shape, dtype), grad = Array::random(out_shape, dtype, 15);
      const Array lse({c.batch, c.heads, c.queries}, accum_dtype(dtype));
      const Array dq(data.q.view().shape, dtype), dk(data.k.view().shape, dtype);
      const Array dv(data.v.view().shape, dtype);
      const ConstView mask = data.mask_view(c);
      backend().attention(data.q, data.k, data.v, mask, data.options, out, lse);
      backend().attention_backward(grad, data.q, data.k, data.v, mask, out, lse, data.options, dq,
                                   dk, dv);
      const NaiveGradients expected = naive_backward(c, data.naive(c), values(grad));
      const double tolerance = 5 * tolerance_of(dtype);
      expect_close(dq, expected.dq, tolerance, c.name);
      expect_close(dk, expected.dk, tolerance, c.name);
      expect_close(dv, expected.dv, tolerance, c.name);
    }
  }
}

TEST_P(Attention, HugeScoresStayFinite) {
  const AttentionCase c{"huge", 1, 1, 1, 4, 4, 4, 4, true, false};
  AttentionData data(c, DType::f32);
  data.options.scale = 1e4;
  const Array out({1, 1, 4, 4}, DType::f32), lse({1, 1, 4}, DType::f32);
  backend().attention(data.q, data.k, data.v, {}, data.options, out, lse);
  for (const double value : values(out)) EXPECT_TRUE(std::isfinite(value));
}

TEST_P(Attention, NanScoresAreNotHidden) {
  const AttentionCase c{"nan", 1, 1, 1, 4, 4, 4, 4, true, false};
  AttentionData data(c, DType::f32);
  data.q.set(4, std::nan(""));  // the second query
  const Array out({1, 1, 4, 4}, DType::f32), lse({1, 1, 4}, DType::f32);
  backend().attention(data.q, data.k, data.v, {}, data.options, out, lse);
  for (int64_t i = 0; i < 16; ++i) EXPECT_EQ(std::isnan(element(out, i)), i / 4 == 1) << i;
}

INSTANTIATE_TEST_SUITE_P(Isa, Matmul, kEveryProductIsa, isa_name);
INSTANTIATE_TEST_SUITE_P(Isa, Attention, kEveryIsa, isa_name);

}  // namespace
}  // namespace tapir
