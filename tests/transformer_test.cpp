// TransformerLM: options reach the blocks, tied embeddings, dropout, activation checkpointing, and
// training that repeats bit for bit.
#include "nn/transformer.h"

#include <cmath>
#include <set>

#include "backends/cpu/threads.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "tests/support/golden.h"
#include "tests/support/tiny_models.h"

namespace tapir::nn {
namespace {

using tapir::testing::NamedConfig;
using tapir::testing::option_configs;
using tapir::testing::random_ids;
using tapir::testing::randomize;
using tapir::testing::relative_error;
using tapir::testing::tiny_config;

std::set<std::string> keys_of(const Module& module) {
  std::set<std::string> keys;
  for (const auto& entry : module.state_dict()) keys.insert(entry.first);
  return keys;
}

class TransformerOption : public ::testing::TestWithParam<NamedConfig> {};

TEST_P(TransformerOption, EveryParameterGetsAGradient) {
  Generator generator(3);
  TransformerLM model(GetParam().config, generator, DType::f64);
  randomize(model, generator);
  const Tensor ids = random_ids({3, 8}, model.config().vocab_size, generator);
  Tape tape;
  tape.backward(cross_entropy(model(ids), ids));
  for (const NamedTensor& p : model.named_parameters()) {
    ASSERT_TRUE(p.tensor.grad().defined()) << p.name;
    double largest = 0;
    for (const double g : p.tensor.grad().to_vector()) largest = std::max(largest, std::fabs(g));
    EXPECT_GT(largest, 1e-6) << p.name;
  }
}

TEST_P(TransformerOption, ConfigCountsParametersAsTheModelDoes) {
  Generator generator(3);
  const TransformerLM model(GetParam().config, generator);
  EXPECT_EQ(GetParam().config.parameter_count(), model.parameter_count());
}

// Each option changes the function: with the same weights where the keys agree, other logits.
TEST_P(TransformerOption, ReachesTheBlocks) {
  if (GetParam().name == "default" || GetParam().name == "tied") return;
  Generator generator(3), other(3);
  TransformerLM usual(tiny_config(), generator, DType::f64);
  randomize(usual, generator);
  TransformerLM model(GetParam().config, other, DType::f64);
  randomize(model, other);
  StateDict state = model.state_dict();
  for (const auto& entry : usual.state_dict()) {
    const auto found = state.find(entry.first);
    if (found == state.end() || found->second.shape() != entry.second.shape()) continue;
    found->second.copy_(entry.second);
  }
  const Tensor ids = random_ids({2, 6}, model.config().vocab_size, generator);
  const double difference = relative_error(model(ids), usual(ids));
  EXPECT_GT(difference, 1e-5);
  EXPECT_TRUE(std::isfinite(difference));
}

TEST_P(TransformerOption, CheckpointingChangesNothing) {
  Generator generator(3);
  TransformerConfig config = GetParam().config;
  config.dropout = 0.25;
  TransformerLM model(config, generator, DType::f64);
  randomize(model, generator);
  const Tensor ids = random_ids({2, 7}, config.vocab_size, generator);
  const auto run = [&](bool with_checkpoints) {
    Generator dropout(11);
    ForwardContext context;
    context.dropout = &dropout;
    context.checkpoint = with_checkpoints;
    for (const Tensor& p : model.parameters()) p.zero_grad();
    Tape tape;
    const Tensor loss = cross_entropy(model(ids, context), ids);
    const size_t nodes = tape.size();
    tape.backward(loss);
    std::vector<std::vector<double>> results{loss.to_vector()};
    for (const Tensor& p : model.parameters()) results.push_back(p.grad().to_vector());
    results.push_back({static_cast<double>(dropout.offset())});
    return std::make_pair(results, nodes);
  };
  const auto plain = run(false), checkpointed = run(true);
  EXPECT_EQ(plain.first, checkpointed.first);
  EXPECT_LT(checkpointed.second, plain.second / 2) << "the inside of blocks must not be recorded";
}

INSTANTIATE_TEST_SUITE_P(Options, TransformerOption, ::testing::ValuesIn(option_configs()),
                         tapir::testing::config_name);

TEST(Transformer, KeysFollowTheOptions) {
  Generator generator(1);
  TransformerConfig config = tiny_config();
  config.n_layers = 1;
  const std::set<std::string> usual{"token_embeddings.weight",
                                    "layers.0.ln1.weight",
                                    "layers.0.attn.q_proj.weight",
                                    "layers.0.attn.k_proj.weight",
                                    "layers.0.attn.v_proj.weight",
                                    "layers.0.attn.output_proj.weight",
                                    "layers.0.ln2.weight",
                                    "layers.0.ffn.w1.weight",
                                    "layers.0.ffn.w2.weight",
                                    "layers.0.ffn.w3.weight",
                                    "ln_final.weight",
                                    "lm_head.weight"};
  EXPECT_EQ(keys_of(TransformerLM(config, generator)), usual);

  config.norm = NormKind::layer;
  config.norm_position = NormPosition::post;
  config.ffn = FeedForwardKind::gelu;
  config.qkv_bias = Bias::yes;
  config.tie_embeddings = true;
  std::set<std::string> keys = usual;
  for (const std::string key : {"lm_head.weight", "ln_final.weight", "layers.0.ffn.w3.weight"}) {
    keys.erase(key);
  }
  for (const std::string part : {"ln1", "ln2", "attn.q_proj", "attn.k_proj", "attn.v_proj"}) {
    keys.insert("layers.0." + part + ".bias");
  }
  EXPECT_EQ(keys_of(TransformerLM(config, generator)), keys);
  config.norm = NormKind::none;
  for (const std::string key : {"ln1.weight", "ln1.bias", "ln2.weight", "ln2.bias"}) {
    keys.erase("layers.0." + key);
  }
  EXPECT_EQ(keys_of(TransformerLM(config, generator)), keys);
}

TEST(Transformer, DefaultFeedForwardWidths) {
  EXPECT_EQ(default_d_ff(FeedForwardKind::swiglu, 24), 64);    // 64 exactly
  EXPECT_EQ(default_d_ff(FeedForwardKind::swiglu, 25), 128);   // 66.7 rounds up
  EXPECT_EQ(default_d_ff(FeedForwardKind::swiglu, 128), 384);  // 341.3
  EXPECT_EQ(default_d_ff(FeedForwardKind::swiglu, 768), 2048);
  EXPECT_EQ(default_d_ff(FeedForwardKind::gelu, 768), 3072);
  EXPECT_EQ(default_d_ff(FeedForwardKind::relu, 5), 20);
  // At a width where nothing is rounded both forms have the same number of parameters.
  TransformerConfig config;
  config.d_model = 192;
  const int64_t gated = config.parameter_count();
  config.ffn = FeedForwardKind::silu;
  EXPECT_EQ(config.parameter_count(), gated);
}

TEST(Transformer, TiedEmbeddingsAreOneParameter) {
  Generator generator(2);
  TransformerConfig config = tiny_config();
  config.tie_embeddings = true;
  TransformerLM model(config, generator, DType::f64);
  EXPECT_TRUE(model.lm_head.weight.is(model.token_embeddings.weight));
  TransformerConfig untied_config = tiny_config();
  TransformerLM untied(untied_config, generator, DType::f64);
  EXPECT_EQ(untied.parameter_count() - model.parameter_count(), config.vocab_size * config.d_model);
  EXPECT_FALSE(model.state_dict().count("lm_head.weight"));
  const optim::AdamW optimizer(model.named_parameters());
  EXPECT_EQ(optimizer.slots().size(), model.named_parameters().size());

  // Its gradient is the sum of what its two uses get in an untied model of the same weights.
  StateDict state = model.state_dict();
  state["lm_head.weight"] = state.at("token_embeddings.weight");
  untied.load_state_dict(state);
  const Tensor ids = random_ids({2, 6}, config.vocab_size, generator);
  for (const TransformerLM* m : {&model, &untied}) {
    Tape tape;
    tape.backward(cross_entropy((*m)(ids), ids));
  }
  const Tensor both = untied.token_embeddings.weight.grad() + untied.lm_head.weight.grad();
  EXPECT_LT(relative_error(model.token_embeddings.weight.grad(), both), 1e-12);
}

TEST(Transformer, FirstLossIsNearTheUniformOne) {
  for (const bool tied : {false, true}) {
    TransformerConfig config;
    config.vocab_size = 512;
    config.max_seq_len = 64;
    config.d_model = 128;
    config.n_layers = 2;
    config.tie_embeddings = tied;
    Generator generator(4);
    const TransformerLM model(config, generator);
    const Tensor ids = random_ids({4, 64}, 512, generator);
    const Tensor targets = random_ids({4, 64}, 512, generator);
    // Logits of unit variance add about half a nat: E[log mean exp] - E[logit] = 1/2. An untied
    // head starts at variance 2 C / (C + V), so its logits add 0.2.
    const double expected = std::log(512.0) + (tied ? 0.5 : 128.0 / (128.0 + 512.0));
    EXPECT_NEAR(cross_entropy(model(ids), targets).item(), expected, 0.2) << "tied " << tied;
  }
}

TEST(Transformer, ExplicitPositionsShiftNothingInAttention) {
  // RoPE makes scores depend on differences of positions only.
  Generator generator(5);
  const TransformerLM model(tiny_config(), generator, DType::f64);
  const Tensor ids = random_ids({2, 4}, 13, generator);
  ForwardContext context;
  context.positions = Tensor::from(std::vector<int32_t>{4, 5, 6, 7}, {4});
  EXPECT_LT(relative_error(model(ids, context), model(ids)), 1e-12);
  context.positions = Tensor::from(std::vector<int32_t>{4, 5, 7, 6}, {4});
  EXPECT_GT(relative_error(model(ids, context), model(ids)), 1e-4);
}

TEST(Transformer, NothingOfTheFutureIsSeen) {
  Generator generator(6);
  const TransformerLM model(tiny_config(), generator, DType::f64);
  const Tensor ids = random_ids({1, 8}, 13, generator);
  const Tensor whole = model(ids);
  for (int64_t length = 1; length < 8; ++length) {
    const Tensor start = model(contiguous(slice(ids, 1, 0, length)));
    EXPECT_LT(relative_error(start, slice(whole, 1, 0, length)), 1e-12) << length;
  }
}

TEST(Transformer, SixteenBitModelsRun) {
  for (const auto dtype : {DType::bf16, DType::f16}) {
    Generator generator(7);
    TransformerLM model(tiny_config(), generator);
    const Tensor ids = random_ids({2, 8}, 13, generator);
    const Tensor expected = model(ids);
    model.to(dtype);
    Tape tape;
    const Tensor logits = model(ids);
    EXPECT_EQ(logits.dtype(), dtype);
    // Some ten roundings of relative size 2^-9 (bf16) or 2^-12 (f16) in sequence.
    EXPECT_LT(relative_error(logits, expected), dtype == DType::bf16 ? 0.1 : 0.0125);
    tape.backward(cross_entropy(logits, ids));
    for (const NamedTensor& p : model.named_parameters()) {
      EXPECT_EQ(p.tensor.grad().dtype(), dtype) << p.name;
    }
  }
}

TEST(Dropout, KeepsTheMeanAndZeroesTheRightShare) {
  Generator generator(8);
  const Dropout layer(0.3);
  const Tensor x = Tensor::ones({400, 500}, DType::f64);
  const std::vector<double> y = layer(x, &generator).to_vector();
  double sum = 0;
  int64_t zeros = 0;
  for (const double value : y) {
    EXPECT_TRUE(value == 0 || std::fabs(value - 1 / 0.7) < 1e-15) << value;
    sum += value;
    zeros += value == 0;
  }
  // Five standard errors of 200000 draws.
  EXPECT_NEAR(static_cast<double>(zeros) / 2e5, 0.3, 5 * std::sqrt(0.3 * 0.7 / 2e5));
  EXPECT_NEAR(sum / 2e5, 1.0, 5 * std::sqrt(0.3 / 0.7 / 2e5));
}

TEST(Dropout, IsTheIdentityInEvaluation) {
  Generator generator(8);
  const Tensor x = randn({3, 4}, generator);
  EXPECT_TRUE(Dropout(0.5)(x, nullptr).is(x));
  const uint64_t offset = generator.offset();
  EXPECT_TRUE(Dropout(0.0)(x, &generator).is(x));
  EXPECT_EQ(generator.offset(), offset) << "no numbers may be drawn";

  TransformerConfig config = tiny_config();
  Generator one(1), two(1);
  const TransformerLM without(config, one);
  config.dropout = 0.5;
  const TransformerLM with(config, two);
  const Tensor ids = random_ids({1, 5}, 13, generator);
  EXPECT_EQ(with(ids).to_vector(), without(ids).to_vector());
  ForwardContext context;
  context.dropout = &generator;
  EXPECT_NE(with(ids, context).to_vector(), without(ids).to_vector());
}

TEST(Dropout, MasksTheEmbeddingsAndEverySublayer) {
  TransformerConfig config = tiny_config();
  config.dropout = 0.5;
  Generator generator(1), masks(2);
  const TransformerLM model(config, generator);
  ForwardContext context;
  context.dropout = &masks;
  model(random_ids({1, 5}, 13, generator), context);
  const uint64_t blocks_per_mask = 5 * 8 / 4;  // a block of the generator holds four numbers
  EXPECT_EQ(masks.offset(), (1 + 2 * 2) * blocks_per_mask);
}

TEST(Dropout, FollowsItsGenerator) {
  const Tensor x = Tensor::ones({50});
  Generator first(9), again(9);
  const std::vector<double> y = Dropout(0.5)(x, &first).to_vector();
  EXPECT_EQ(Dropout(0.5)(x, &again).to_vector(), y);
  EXPECT_NE(Dropout(0.5)(x, &again).to_vector(), y);
}

// Losses and final weights of a short training run.
std::vector<double> train(int threads, DType dtype) {
  const int before = cpu::threads();
  cpu::set_threads(threads);
  TransformerConfig config;
  config.vocab_size = 97;
  config.max_seq_len = 48;
  config.d_model = 72;
  config.n_layers = 2;
  config.n_heads = 6;
  config.n_kv_heads = 3;
  config.dropout = 0.1;
  Generator generator(10);
  TransformerLM model(config, generator);
  model.to(dtype);
  const std::vector<NamedTensor> parameters = model.named_parameters();
  optim::AdamW optimizer(parameters, {.lr = 3e-3, .weight_decay = 0.1});
  std::vector<double> results;
  for (int step = 0; step < 4; ++step) {
    const Tensor ids = random_ids({5, 48}, 97, generator);
    ForwardContext context;
    context.dropout = &generator;
    Tape tape;
    const Tensor loss = cross_entropy(model(ids, context), ids);
    tape.backward(loss);
    results.push_back(loss.item());
    results.push_back(optim::clip_grad_norm(parameters, 1.0));
    optimizer.step();
    optimizer.zero_grad();
  }
  for (const NamedTensor& p : parameters) {
    for (const double value : p.tensor.to_vector()) results.push_back(value);
  }
  cpu::set_threads(before);
  return results;
}

TEST(Training, RepeatsBitForBitWhateverTheThreads) {
  for (const auto dtype : {DType::f32, DType::bf16}) {
    const std::vector<double> one = train(1, dtype);
    EXPECT_TRUE(std::isfinite(one[0]));
    EXPECT_EQ(train(1, dtype), one) << "from run to run";
    EXPECT_EQ(train(2, dtype), one) << "2 threads";
    EXPECT_EQ(train(5, dtype), one) << "5 threads";
  }
}

TEST(Training, LossFallsOnARepeatingText) {
  TransformerConfig config = tiny_config();
  config.d_model = 16;
  Generator generator(12);
  const TransformerLM model(config, generator);
  optim::AdamW optimizer(model.named_parameters(), {.lr = 1e-2});
  std::vector<int32_t> text;
  for (int32_t i = 0; i < 9; ++i) text.push_back((5 * i + 2) % 13);
  const Tensor ids = Tensor::from(std::span<const int32_t>(text.data(), 8), {1, 8});
  const Tensor targets = Tensor::from(std::span<const int32_t>(text.data() + 1, 8), {1, 8});
  double loss_value = 0;
  for (int step = 0; step < 60; ++step) {
    Tape tape;
    const Tensor loss = cross_entropy(model(ids), targets);
    tape.backward(loss);
    optimizer.step();
    optimizer.zero_grad();
    loss_value = loss.item();
  }
  EXPECT_LT(loss_value, 0.05);
}

}  // namespace
}  // namespace tapir::nn
