// The pass for one more token against the model's own pass: the same bits, whatever the weights.
#include "nn/token_step.h"

#include <cmath>

#include "autograd/anomaly.h"
#include "autograd/ops.h"
#include "autograd/reference.h"
#include "backends/cpu/threads.h"
#include "nn/compressed_weight.h"
#include "tests/support/tensors.h"
#include "tests/support/tiny_models.h"

namespace tapir::nn {
namespace {

using namespace tapir::testing;

TransformerLM random_model(const TransformerConfig& config, DType dtype = DType::f32) {
  Generator generator(3);
  TransformerLM model(config, generator, dtype);
  randomize(model, generator);
  return model;
}

// Wide enough for groups of int8, and for several vectors with a remainder.
TransformerConfig wide(TransformerConfig config) {
  config.d_model = 96;
  config.d_ff = 160;
  config.vocab_size = 131;
  return config;
}

// Two models that saw the same prompt: one goes on with TokenStep, the other with its own pass.
void expect_same_steps(const TransformerLM& model, int64_t batch, bool padded) {
  const int64_t vocab = model.config().vocab_size, prompt = 3;
  Generator generator(5);
  KvCache ours = model.make_cache(batch), theirs = model.make_cache(batch);
  const Tensor all = random_ids({batch, model.config().max_seq_len}, vocab, generator);
  TokenStep step(model, batch);
  for (KvCache* cache : {&ours, &theirs}) {
    ForwardContext context;
    context.cache = cache;
    model.hidden(contiguous(slice(all, 1, 0, prompt)), context);
  }
  for (int64_t t = prompt; t < model.config().max_seq_len; ++t) {
    const Tensor ids = contiguous(slice(all, 1, t, t + 1));
    ForwardContext context;
    context.cache = &theirs;
    if (padded) {  // the first row begins two columns later
      std::vector<double> keep(static_cast<size_t>(batch * (t + 1)), 1.0);
      keep[0] = keep[1] = 0.0;
      context.mask = Tensor::from(keep, {batch, 1, 1, t + 1}, DType::boolean);
    }
    const std::vector<int32_t> positions(static_cast<size_t>(batch), static_cast<int32_t>(t));
    const Tensor actual = step.logits(ids.to_ints(), positions, context.mask, ours);
    EXPECT_EQ(bits_of(actual), bits_of(select(model(ids, context), 1, 0))) << "position " << t;
    EXPECT_EQ(ours.length(), t + 1);
  }
}

TEST(TokenStep, HasTheBitsOfTheModelsPass) {
  for (const NamedConfig& option : option_configs()) {
    const TransformerLM model = random_model(option.config);
    if (!TokenStep::supports(model)) continue;
    SCOPED_TRACE(option.name);
    for (const int64_t batch : {1, 3}) expect_same_steps(model, batch, batch == 3);
  }
}

// More rows than share a reading of the weights, too.
TEST(TokenStep, HasThemWithFewerBytes) {
  for (const NamedConfig& option : option_configs()) {
    if (option.name != "default" && option.name != "grouped" && option.name != "tied") continue;
    for (const char* weights : {"f32", "bf16", "int8"}) {
      TransformerLM model = random_model(wide(option.config));
      if (const auto compression = parse_weights(weights)) compress_weights(model, *compression);
      SCOPED_TRACE(option.name + " " + weights);
      for (const int64_t batch : {1, 2, 9}) expect_same_steps(model, batch, false);
    }
  }
}

TEST(TokenStep, DoesNotDependOnTheNumberOfThreads) {
  const int before = cpu::threads();
  TransformerConfig config = wide(tiny_config());
  config.vocab_size = 3000;  // enough work for several threads
  for (const char* weights : {"f32", "bf16", "int8"}) {
    TransformerLM model = random_model(config);
    if (const auto compression = parse_weights(weights)) compress_weights(model, *compression);
    std::vector<std::vector<uint64_t>> bits;
    for (const int threads : {1, 2, 3}) {
      cpu::set_threads(threads);
      KvCache cache = model.make_cache(1);
      TokenStep step(model, 1);
      const std::vector<int32_t> ids{7}, positions{0};
      bits.push_back(bits_of(step.logits(ids, positions, Tensor(), cache)));
    }
    EXPECT_EQ(bits[0], bits[1]) << weights;
    EXPECT_EQ(bits[0], bits[2]) << weights;
  }
  cpu::set_threads(before);
}

TEST(TokenStep, LeavesOtherModelsAndWatchedOnesToTheirOwnPass) {
  for (const NamedConfig& option : option_configs()) {
    const TransformerConfig& c = option.config;
    const bool expected = c.norm == NormKind::rms && c.norm_position == NormPosition::pre &&
                          c.ffn == FeedForwardKind::swiglu && c.qkv_bias == Bias::no;
    EXPECT_EQ(TokenStep::supports(random_model(c)), expected) << option.name;
  }
  EXPECT_FALSE(TokenStep::supports(random_model(tiny_config(), DType::f64)));
  EXPECT_FALSE(TokenStep::supports(random_model(tiny_config(), DType::bf16)));
  const TransformerLM model = random_model(tiny_config());
  {
    const DetectAnomaly detect;
    EXPECT_FALSE(TokenStep::supports(model));
  }
  {
    const reference::Composed composed;
    EXPECT_FALSE(TokenStep::supports(model));
  }
  EXPECT_TRUE(TokenStep::supports(model));
}

}  // namespace
}  // namespace tapir::nn
