// Attention of a single query in f32 against a plain loop in f64.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "backends/registry.h"

namespace tapir {
namespace {

struct Case {
  int64_t batch, heads, kv_heads, keys, width, value_width;
  bool masked;
};

// Rows [B, H, T, D] with room between them, as a cache has.
struct Rows {
  int64_t heads, capacity, width;
  std::vector<float> values;

  Rows(int64_t batch, int64_t h, int64_t t, int64_t d, uint64_t seed)
      : heads(h), capacity(t + 2), width(d) {
    uint64_t state = seed;
    for (int64_t i = 0; i < batch * h * capacity * d; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      values.push_back(static_cast<float>(static_cast<double>(state >> 40) / (1 << 23) - 1.0));
    }
  }
  double at(int64_t b, int64_t h, int64_t t, int64_t d) const {
    return static_cast<double>(
        values[static_cast<size_t>(((b * heads + h) * capacity + t) * width + d)]);
  }
  ConstView view(int64_t batch, int64_t rows) const {
    return {values.data(),
            DType::f32,
            {batch, heads, rows, width},
            {heads * capacity * width, capacity * width, width, 1}};
  }
};

void expect_matches_loop(const Case& c) {
  const Rows q(c.batch, c.heads, 1, c.width, 1), k(c.batch, c.kv_heads, c.keys, c.width, 2);
  const Rows v(c.batch, c.kv_heads, c.keys, c.value_width, 3);
  std::vector<unsigned char> keep(static_cast<size_t>(c.batch * c.keys), 1);
  for (size_t i = 0; i < keep.size(); ++i) keep[i] = !c.masked || i % 3 != 0 ? 1 : 0;
  ConstView mask;
  if (c.masked)
    mask = {keep.data(), DType::boolean, {c.batch, c.heads, 1, c.keys}, {c.keys, 0, 0, 1}};
  const Shape out_shape{c.batch, c.heads, 1, c.value_width}, lse_shape{c.batch, c.heads, 1};
  std::vector<float> out(static_cast<size_t>(numel(out_shape))),
      lse(static_cast<size_t>(numel(lse_shape)));
  const double scale = 1 / std::sqrt(static_cast<double>(c.width));
  backend(kCpu).attention(q.view(c.batch, 1), k.view(c.batch, c.keys), v.view(c.batch, c.keys),
                          mask, {scale, true},
                          {out.data(), DType::f32, out_shape, row_major_strides(out_shape)},
                          {lse.data(), DType::f32, lse_shape, row_major_strides(lse_shape)});
  for (int64_t b = 0; b < c.batch; ++b) {
    for (int64_t h = 0; h < c.heads; ++h) {
      const int64_t kv = h / (c.heads / c.kv_heads);
      std::vector<double> weights;
      double sum = 0;
      for (int64_t s = 0; s < c.keys; ++s) {
        double score = 0;
        for (int64_t d = 0; d < c.width; ++d) score += q.at(b, h, 0, d) * k.at(b, kv, s, d);
        const bool seen = keep[static_cast<size_t>(b * c.keys + s)] != 0;
        weights.push_back(seen ? std::exp(score * scale) : 0.0);
        sum += weights.back();
      }
      const auto row = static_cast<size_t>(b * c.heads + h);
      if (sum == 0) {
        EXPECT_EQ(lse[row], -std::numeric_limits<float>::infinity());
      } else {
        EXPECT_NEAR(lse[row], std::log(sum), 2e-6 * (1 + std::fabs(std::log(sum))));
      }
      for (int64_t d = 0; d < c.value_width; ++d) {
        double expected = 0;
        for (int64_t s = 0; s < c.keys; ++s)
          expected += weights[static_cast<size_t>(s)] * v.at(b, kv, s, d);
        if (sum > 0) expected /= sum;
        // Values are below 1, and so is their mean; scores of up to 5 have a few units of f32 in
        // error, which their exponentials keep.
        EXPECT_NEAR(out[row * static_cast<size_t>(c.value_width) + static_cast<size_t>(d)],
                    expected, 3e-6)
            << "keys " << c.keys << " width " << c.width << " head " << h << " element " << d;
      }
    }
  }
}

TEST(QueryAttention, MatchesAPlainLoop) {
  for (const int64_t width : {1, 7, 8, 16, 23, 32, 48, 64, 80, 128, 200}) {
    for (const int64_t keys : {1, 2, 15, 16, 17, 300}) {
      expect_matches_loop({1, 3, 3, keys, width, width, false});
      expect_matches_loop({2, 4, 2, keys, width, width + 3, true});
    }
  }
  expect_matches_loop({1, 10, 1, 40, 24, 24, true});  // more heads than share a reading
}

TEST(QueryAttention, NoKeysGiveZeros) {
  expect_matches_loop({1, 2, 1, 0, 8, 8, false});
  expect_matches_loop({1, 2, 2, 1, 8, 8, true});  // one key, and the mask hides it
}

}  // namespace
}  // namespace tapir
