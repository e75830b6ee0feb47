// Training in bf16 with f32 masters, beside training in f32.
#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "autograd/ops.h"
#include "backends/cpu/threads.h"
#include "nn/transformer.h"
#include "optim/adamw.h"
#include "optim/clip.h"
#include "tests/support/tensors.h"

namespace tapir {
namespace {

nn::TransformerConfig small_model() {
  nn::TransformerConfig config;
  config.vocab_size = 29;
  config.max_seq_len = 32;
  config.d_model = 48;
  config.n_layers = 2;
  config.n_heads = 3;
  config.dropout = 0.05;
  return config;
}

// Sequences with something to learn in them: each token follows from the two before it, but for
// every eighth, which is random.
Tensor some_text(Generator& generator, int64_t rows, int64_t length, int64_t vocabulary) {
  std::vector<int32_t> ids;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t before = 1, last = 2;
    for (int64_t i = 0; i < length; ++i) {
      int64_t next = (3 * before + 5 * last + 1) % vocabulary;
      if (i % 8 == 0)
        next = static_cast<int64_t>(generator.below(static_cast<uint64_t>(vocabulary)));
      ids.push_back(static_cast<int32_t>(next));
      before = std::exchange(last, next);
    }
  }
  return Tensor::from(std::span<const int32_t>(ids), {rows, length});
}

struct Trained {
  std::vector<double> losses;
  StateDict weights, optimizer;
};

Trained train(DType dtype, int steps) {
  Generator weights(3), text(4), dropout(5);
  const nn::TransformerConfig config = small_model();
  nn::TransformerLM model(config, weights, DType::f32);
  const StateDict begin = model.state_dict();
  model.to(dtype);
  optim::AdamW adamw(model.named_parameters(), {.lr = 3e-3, .weight_decay = 0.1});
  adamw.set_masters(begin);
  Trained result;
  for (int step = 0; step < steps; ++step) {
    const Tensor ids = some_text(text, 8, 33, config.vocab_size);
    {
      Tape tape;
      nn::ForwardContext context;
      context.dropout = &dropout;
      const Tensor logits = model(contiguous(slice(ids, 1, 0, 32)), context);
      EXPECT_EQ(logits.dtype(), dtype);
      const Tensor loss = cross_entropy(logits, contiguous(slice(ids, 1, 1, 33)));
      EXPECT_EQ(loss.dtype(), DType::f32);
      tape.backward(loss);
      result.losses.push_back(loss.item());
    }
    optim::clip_grad_norm(model.named_parameters(), 1.0);
    adamw.step();
    adamw.zero_grad();
  }
  result.weights = model.state_dict();
  result.optimizer = adamw.state_dict();
  return result;
}

double mean_of_last(const std::vector<double>& values, size_t count) {
  return std::accumulate(values.end() - static_cast<std::ptrdiff_t>(count), values.end(), 0.0) /
         static_cast<double>(count);
}

// The same weights at first, batches and dropout. After 250 steps the loss has fallen by more than
// a nat; that in bf16 may be higher by 1 % of what was learned.
TEST(MixedPrecision, LearnsAsMuchAsF32) {
  const Trained f32 = train(DType::f32, 250), bf16 = train(DType::bf16, 250);
  const double learned = f32.losses[0] - mean_of_last(f32.losses, 20);
  EXPECT_GT(learned, 1.0);
  EXPECT_NEAR(mean_of_last(bf16.losses, 20), mean_of_last(f32.losses, 20), 0.01 * learned);
}

TEST(MixedPrecision, TheWeightsAreTheRoundedMasters) {
  const Trained trained = train(DType::bf16, 3);
  for (const auto& [name, weight] : trained.weights) {
    const Tensor master = trained.optimizer.at(optim::master_key(name));
    EXPECT_EQ(weight.dtype(), DType::bf16) << name;
    EXPECT_EQ(master.dtype(), DType::f32) << name;
    EXPECT_EQ(trained.optimizer.at("optim.m." + name).dtype(), DType::f32) << name;
    EXPECT_EQ(to(master, DType::bf16).to_vector(), weight.to_vector()) << name;
    EXPECT_NE(master.to_vector(), weight.to_vector()) << name;
  }
}

TEST(MixedPrecision, AnyNumberOfThreadsGivesTheSameBits) {
  const int before = cpu::threads();
  cpu::set_threads(1);
  const Trained one = train(DType::bf16, 5);
  for (const int threads : {2, 5}) {
    cpu::set_threads(threads);
    const Trained several = train(DType::bf16, 5);
    EXPECT_EQ(several.losses, one.losses);
    for (const auto& [name, state] : one.optimizer)
      EXPECT_EQ(several.optimizer.at(name).to_vector(), state.to_vector()) << name;
  }
  cpu::set_threads(before);
}

}  // namespace
}  // namespace tapir
