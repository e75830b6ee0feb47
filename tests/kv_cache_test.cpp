// The KV cache: prefill, step by step, and full recompute agree; its limits are errors.
#include "nn/kv_cache.h"

#include "tests/support/expect_error.h"
#include "tests/support/golden.h"
#include "tests/support/tiny_models.h"

namespace tapir::nn {
namespace {

using tapir::testing::expect_error;
using tapir::testing::NamedConfig;
using tapir::testing::random_ids;
using tapir::testing::randomize;
using tapir::testing::relative_error;
using tapir::testing::tiny_config;

class KvCacheOption : public ::testing::TestWithParam<NamedConfig> {};

// Splits of 8 positions into forward passes; every one must give the logits of a single pass.
TEST_P(KvCacheOption, AnySplitEqualsFullRecompute) {
  const std::vector<std::vector<int64_t>> splits{
      {8}, {1, 1, 1, 1, 1, 1, 1, 1}, {3, 1, 1, 1, 1, 1}, {2, 3, 3}, {7, 1}};
  for (const auto dtype : {DType::f64, DType::f32}) {
    Generator generator(21);
    TransformerLM model(GetParam().config, generator, dtype);
    randomize(model, generator);
    const Tensor ids = random_ids({2, 8}, model.config().vocab_size, generator);
    const Tensor full = model(ids);
    for (const auto& split : splits) {
      KvCache cache = model.make_cache(2);
      ForwardContext context;
      context.cache = &cache;
      std::vector<Tensor> parts;
      for (const int64_t count : split) {
        const int64_t start = cache.length();
        parts.push_back(model(contiguous(slice(ids, 1, start, start + count)), context));
        EXPECT_EQ(cache.length(), start + count);
      }
      EXPECT_LT(relative_error(cat(parts, 1), full), dtype == DType::f64 ? 1e-12 : 1e-5);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Options, KvCacheOption,
                         ::testing::ValuesIn(tapir::testing::option_configs()),
                         tapir::testing::config_name);

TEST(KvCache, CanBeClearedAndUsedAgain) {
  Generator generator(22);
  const TransformerLM model(tiny_config(), generator);
  KvCache cache = model.make_cache(1);
  ForwardContext context;
  context.cache = &cache;
  const Tensor ids = random_ids({1, 4}, 13, generator), other = random_ids({1, 6}, 13, generator);
  model(other, context);
  cache.clear();
  EXPECT_EQ(cache.length(), 0);
  EXPECT_EQ(model(ids, context).to_vector(), model(ids).to_vector());
}

TEST(KvCache, HoldsOneRowPerKeyHead) {
  Generator generator(22);
  TransformerConfig config = tiny_config();
  config.n_kv_heads = 1;
  const TransformerLM model(config, generator);
  KvCache cache = model.make_cache(3, 5);
  EXPECT_EQ(cache.capacity(), 5);
  const Tensor kv = Tensor::ones({3, 1, 2, 4});
  const auto [k, v] = cache.append(1, kv, kv);
  EXPECT_EQ(k.shape(), (Shape{3, 1, 2, 4}));
  EXPECT_EQ(v.shape(), (Shape{3, 1, 2, 4}));
  EXPECT_EQ(cache.length(), 0) << "appending does not count yet";
}

TEST(KvCache, AFailedPassLeavesItAsItWas) {
  Generator generator(23);
  const TransformerLM model(tiny_config(), generator);
  KvCache cache = model.make_cache(1);
  ForwardContext context;
  context.cache = &cache;
  const Tensor ids = random_ids({1, 6}, 13, generator);
  model(contiguous(slice(ids, 1, 0, 3)), context);
  ForwardContext bad = context;
  bad.mask = Tensor::zeros({1, 1, 1, 99}, DType::boolean);
  EXPECT_THROW(model(contiguous(slice(ids, 1, 3, 6)), bad), Error);
  EXPECT_EQ(cache.length(), 3);
  const Tensor rest = model(contiguous(slice(ids, 1, 3, 6)), context);
  EXPECT_LT(relative_error(rest, slice(model(ids), 1, 3, 6)), 1e-5);
}

TEST(KvCache, WrongUsesAreErrors) {
  KvCacheConfig config{2, 3, 1, 5, 4};
  KvCache cache(config);
  const auto kv = [](const Shape& shape) { return Tensor::zeros(shape); };
  const auto append = [&](int64_t layer, const Shape& k, const Shape& v) {
    cache.append(layer, kv(k), kv(v));
  };
  expect_error(
      [&] {
        append(2, {3, 1, 1, 4}, {3, 1, 1, 4});
      },
      {"kv_cache: has 2 layers, asked for layer 2"});
  expect_error(
      [&] {
        append(0, {2, 1, 1, 4}, {2, 1, 1, 4});
      },
      {"k is [2, 1, 1, 4]", "both must be [3, 1, T, 4]"});
  expect_error([&] { append(0, {3, 1, 1, 4}, {3, 1, 2, 4}); }, {"v is [3, 1, 2, 4]"});
  expect_error([&] { append(0, {3, 1, 4}, {3, 1, 4}); }, {"k is [3, 1, 4]"});
  cache.advance(4);
  expect_error(
      [&] {
        append(0, {3, 1, 2, 4}, {3, 1, 2, 4});
      },
      {"kv_cache: 2 new positions behind 4 exceed the capacity 5"});
  expect_error([&] { cache.advance(2); }, {"cannot advance by 2 from 4 with capacity 5"});
  expect_error([&] { cache.advance(-1); }, {"cannot advance by -1"});
  config.batch = 0;
  expect_error([&] { KvCache{config}; }, {"kv_cache: every size must be positive", "batch 0"});
  Tape tape;
  expect_error(
      [&] {
        append(0, {3, 1, 1, 4}, {3, 1, 1, 4});
      },
      {"kv_cache: has no gradient; use it outside of a tape"});
}

TEST(KvCache, TooManyPositionsForTheModelAreAnError) {
  Generator generator(24);
  const TransformerLM model(tiny_config(), generator);
  KvCache cache = model.make_cache(1);
  ForwardContext context;
  context.cache = &cache;
  model(random_ids({1, 7}, 13, generator), context);
  expect_error(
      [&] {
        model(random_ids({1, 2}, 13, generator), context);
      },
      {"transformer: 9 positions exceed max_seq_len 8"});
}

}  // namespace
}  // namespace tapir::nn
