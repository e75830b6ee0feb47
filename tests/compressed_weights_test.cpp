// Models that compute with weights of fewer bits.
#include <cmath>
#include <limits>

#include "autograd/ops.h"
#include "nn/compressed_weight.h"
#include "nn/generate.h"
#include "tests/support/cuda_device.h"
#include "tests/support/expect_error.h"
#include "tests/support/tiny_models.h"

namespace tapir::nn {
namespace {

using namespace tapir::testing;

TransformerConfig wide_config() {
  TransformerConfig config = tiny_config();
  config.d_model = 32;
  config.d_ff = 64;
  return config;
}

TransformerLM random_model(const TransformerConfig& config) {
  Generator generator(3);
  TransformerLM model(config, generator);
  randomize(model, generator);
  return model;
}

// A model with compressed weights is the model whose weights were rounded.
void expect_equal_to_rounded(Device device) {
  for (const bool tied : {false, true}) {
    TransformerConfig config = wide_config();
    config.tie_embeddings = tied;
    config.qkv_bias = Bias::yes;
    TransformerLM model = random_model(config), rounded = random_model(config);
    for (const NamedTensor& p : rounded.named_parameters()) {
      if (p.tensor.rank() == 2) Tensor(p.tensor).copy_(to(to(p.tensor, DType::bf16), DType::f32));
    }
    model.to(device);
    compress_weights(model, Compression::bf16);
    EXPECT_EQ(model.lm_head.compressed == model.token_embeddings.compressed, tied);
    Generator generator(4);
    for (const int64_t batch : {1, 3}) {
      const Tensor ids = random_ids({batch, 5}, config.vocab_size, generator);
      const std::vector<double> actual = model(to(ids, device)).to_vector(),
                                expected = rounded(ids).to_vector();
      for (size_t i = 0; i < actual.size(); ++i)
        EXPECT_NEAR(actual[i], expected[i], 1e-4 * (1 + std::fabs(expected[i])));
    }
  }
}

TEST(CompressWeights, EqualsAModelWithRoundedWeights) {
  expect_equal_to_rounded(kCpu);
}

using CompressWeightsOnCuda = CudaTest;

TEST_F(CompressWeightsOnCuda, EqualsAModelWithRoundedWeights) {
  expect_equal_to_rounded(kCuda);
}

TEST_F(CompressWeightsOnCuda, InputsMustBeThereToo) {
  TransformerLM model = random_model(wide_config());
  model.to(kCuda);
  compress_weights(model, Compression::int8);
  expect_error(
      [&] {
        model.token_embeddings(Tensor::zeros({1, 2}, DType::i32));
      },
      {"weights", "on cpu", "on cuda", "to()"});
  expect_error([&] { model.lm_head(Tensor::ones({2, 32})); }, {"weights", "on cpu", "on cuda"});
}

void expect_same_with_and_without_cache(Device device) {
  TransformerLM model = random_model(wide_config());
  model.to(device);
  compress_weights(model, Compression::int8);
  GenerateOptions options;
  options.max_new_tokens = 6;
  const std::vector<std::vector<int32_t>> prompts{{1, 2}, {3}};
  const Generation cached = generate(model, prompts, options);
  options.use_cache = false;
  EXPECT_EQ(generate(model, prompts, options).ids, cached.ids);
}

TEST(CompressWeights, GeneratesTheSameWithAndWithoutCache) {
  expect_same_with_and_without_cache(kCpu);
}

TEST_F(CompressWeightsOnCuda, GeneratesTheSameWithAndWithoutCache) {
  expect_same_with_and_without_cache(kCuda);
}

// The f32 numbers are given up, and whoever reads them notices; shapes stay.
TEST(CompressWeights, GivesUpTheWeights) {
  TransformerLM model = random_model(wide_config());
  const Tensor gain = std::get<RMSNorm>(model.ln_final).weight;
  const int64_t before = model.parameter_count();
  compress_weights(model, Compression::bf16);
  EXPECT_EQ(model.parameter_count(), before);
  EXPECT_LT(model.lm_head.weight.storage().bytes(), 64u);
  EXPECT_TRUE(std::isnan(model.lm_head.weight.to_vector()[0]));
  EXPECT_TRUE(std::isnan(model.token_embeddings.weight.to_vector()[0]));
  EXPECT_EQ(std::get<RMSNorm>(model.ln_final).weight.to_vector(), gain.to_vector());
}

TEST(CompressWeights, TakesFewerBytes) {
  Generator generator(1);
  const Tensor w = randn({10, 64}, generator);
  EXPECT_EQ(CompressedWeight(w, Compression::bf16).bytes(), 10 * 64 * 2);
  EXPECT_EQ(CompressedWeight(w, Compression::int8).bytes(), 10 * 64 + 10 * 2 * 2 + 16 * 2);
}

TEST(CompressWeights, ExplainsWhatItCannotDo) {
  EXPECT_FALSE(parse_weights("f32").has_value());
  EXPECT_EQ(parse_weights("bf16"), Compression::bf16);
  EXPECT_EQ(parse_weights("int8"), Compression::int8);
  expect_error([] { parse_weights("int4"); }, {"weights", "'int4'", "f32, bf16 or int8"});
  expect_error(
      [] {
        CompressedWeight(Tensor::ones({4, 40}), Compression::int8);
      },
      {"weights", "each 32", "width 40", "use bf16"});
  expect_error(
      [] {
        CompressedWeight(Tensor::ones({4, 32}, DType::f64), Compression::bf16);
      },
      {"weights", "f64", "f32"});
  expect_error(
      [] {
        CompressedWeight(Tensor::full({2, 32}, std::numeric_limits<double>::quiet_NaN()),
                         Compression::int8);
      },
      {"weights", "64 of the numbers", "not finite"});
  TransformerLM narrow = random_model(tiny_config());
  expect_error([&] { compress_weights(narrow, Compression::int8); }, {"weights", "width 8"});

  TransformerLM model = random_model(wide_config());
  compress_weights(model, Compression::bf16);
  const Tensor ids = Tensor::zeros({1, 2}, DType::i32);
  expect_error(
      [&] {
        Tape tape;
        model(ids);
      },
      {"weights", "no gradient"});
  expect_error([&] { model(Tensor::full({1, 2}, 13, DType::i32)); }, {"outside of [0, 13)"});
  expect_error([&] { model.lm_head(Tensor::ones({2, 31})); }, {"[2, 31]", "last dimension of 32"});
}

}  // namespace
}  // namespace tapir::nn
