// Datasets, evaluation and what else commands do with text.
#include <gtest/gtest.h>

#include "apps/data/dataset.h"
#include "apps/data/evaluation.h"
#include "apps/data/sliding_evaluation.h"
#include "apps/data/token_buffer.h"
#include "apps/generation/overlap.h"
#include "apps/generation/stop_matcher.h"
#include "apps/training/memory_forecast.h"
#include "apps/training/progress.h"
#include "apps/training/trainer.h"
#include "autograd/ops.h"
#include "tests/support/expect_error.h"
#include "tests/support/process.h"

namespace tapir::app {
namespace {

using tapir::testing::expect_error;
using tapir::testing::TemporaryFolder;

RunConfig config_for(const std::vector<std::string>& paths) {
  RunConfig config;
  config.data.paths = paths;
  return config;
}

TEST(Dataset, SplitsOneTextAtItsEnd) {
  TemporaryFolder folder;
  const Dataset data = load_dataset(config_for({folder.write("a.txt", std::string(99, 'a'))}));
  EXPECT_EQ(data.train.size(), 90);  // of 99 bytes and one end-of-text
  EXPECT_EQ(data.validation.size(), 10);
  EXPECT_EQ(data.documents, 1);
  EXPECT_EQ(data.bytes, 99);
  std::vector<int32_t> first(2);
  data.train.copy(0, first);
  EXPECT_EQ(first, (std::vector<int32_t>{256, 'a'}));
}

TEST(Dataset, SplitsManyTextsByDocument) {
  TemporaryFolder folder;
  for (int i = 0; i < 40; ++i) {
    folder.write(fmt::format("texts/{:02}.txt", i), std::string(9, static_cast<char>('A' + i)));
  }
  const Dataset data = load_dataset(config_for({folder / "texts"}));
  EXPECT_EQ(data.train.size(), 360);
  EXPECT_EQ(data.validation.size(), 40);
  // Whole documents, spread over the list.
  std::vector<int32_t> ids(40);
  data.validation.copy(0, ids);
  for (size_t i = 0; i < 40; i += 10) {
    EXPECT_EQ(ids[i], 256);
    EXPECT_EQ(ids[i + 1], ids[i + 9]);
    EXPECT_EQ(ids[i + 1], 'A' + static_cast<int32_t>(i + 9));
  }
}

TEST(Dataset, TakesValidationTextOfItsOwnAndSeparatorsInsideFiles) {
  TemporaryFolder folder;
  RunConfig config = config_for({folder.write("a.txt", "one<|endoftext|>two")});
  config.data.validation_paths = {folder.write("v.txt", "val")};
  const Dataset data = load_dataset(config);
  EXPECT_EQ(data.train.size(), 8);  // a separator in front, three letters, one, three letters
  EXPECT_EQ(data.validation.size(), 4);
}

TEST(Dataset, KnowsItsTokenizers) {
  TemporaryFolder folder;
  RunConfig config =
      config_for({folder.write("a.txt", "so so so the the the and and and \xC3\xA9\n")});
  config.data.tokenizer = "char";
  EXPECT_EQ(load_dataset(config).tokenizer->kind(), "char");
  config.data.tokenizer = "bpe:260";
  EXPECT_EQ(load_dataset(config).tokenizer->vocab_size(), 260);
  config.data.tokenizer = "word";
  expect_error([&] { load_dataset(config); }, {"no tokenizer 'word'", "byte, char, bpe:N"});
  config.data.tokenizer = "bpe:many";
  expect_error([&] { load_dataset(config); }, {"--tokenizer", "'many'"});
}

TEST(Dataset, StoriesForValidationAreNotThoseOfTraining) {
  RunConfig config;
  config.data.corpus_bytes = 20'000;
  config.training.eval_batches = 2;
  config.training.batch = 3;
  const Dataset data = load_dataset(config);
  EXPECT_GE(data.bytes, 20'000);
  ASSERT_EQ(data.floor_windows.size(), 6u);
  for (const FloorWindow& window : data.floor_windows) {
    int32_t first = 0;
    data.validation.copy(window.begin, {&first, 1});
    EXPECT_EQ(first, data.tokenizer->end_of_text());
    EXPECT_GT(window.bits, 0);
    EXPECT_LE(window.tokens, config.model.context);
  }
}

nn::TransformerLM tiny_model(int64_t vocab_size, int64_t context) {
  Generator generator(3);
  nn::TransformerConfig config;
  config.vocab_size = vocab_size;
  config.max_seq_len = context;
  config.d_model = 8;
  config.n_layers = 1;
  config.n_heads = 2;
  return nn::TransformerLM(config, generator);
}

// -log p of each token but the first, each predicted from as much as the given window shows.
double loss_by_hand(const nn::TransformerLM& model, const std::vector<int32_t>& ids, size_t begin,
                    size_t target) {
  const std::vector<int32_t> input(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                                   ids.begin() + static_cast<std::ptrdiff_t>(target));
  const Tensor logits =
      model(Tensor::from(std::span<const int32_t>(input), {1, static_cast<int64_t>(input.size())}));
  const Tensor last = select(select(logits, 0, 0), 0, logits.size(1) - 1);
  return -log_softmax(last).to_vector()[static_cast<size_t>(ids[target])];
}

TEST(SlidingEvaluation, PredictsEachTokenOnceFromItsWindow) {
  const auto tokenizer = make_byte_tokenizer();
  const nn::TransformerLM model = tiny_model(257, 4);
  const std::vector<int32_t> ids = {256, 'h', 'e', 'l', 'l', 'o', ' ', 'y', 'o', 'u', '!'};
  const auto buffer = std::make_shared<TokenBuffer>(257);
  buffer->append(ids);
  const TokenSequence tokens(buffer);
  for (const int64_t stride : {1, 2, 3, 4}) {
    std::vector<int64_t> positions;
    double expected = 0;
    const Evaluation result =
        evaluate_sliding(model, tokens, *tokenizer, {.context = 4, .stride = stride, .batch = 2},
                         [&](int64_t position, int32_t id, double) {
                           positions.push_back(position);
                           EXPECT_EQ(id, ids[static_cast<size_t>(position)]);
                         });
    // The first window holds targets 1 to 4; each later one ends `stride` tokens further.
    for (size_t target = 1; target < ids.size(); ++target) {
      size_t end = 5;
      while (end <= target) end += static_cast<size_t>(stride);
      end = std::min(end, ids.size());
      expected += loss_by_hand(model, ids, end - 5, target);
    }
    EXPECT_NEAR(result.nats, expected, 1e-4) << stride;  // f32 logits
    EXPECT_EQ(result.tokens, 10);
    EXPECT_EQ(result.bytes, 10);
    EXPECT_EQ(positions, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  }
  expect_error([&] { evaluate_sliding(model, tokens, *tokenizer, {.context = 4, .stride = 5}); },
               {"--stride 5", "context of 4"});
}

TEST(Validation, AveragesOverEvenWindows) {
  TemporaryFolder folder;
  RunConfig config = config_for({folder.write("a.txt", std::string(400, 'a') + "bcdefghij")});
  const Dataset data = load_dataset(config);
  const nn::TransformerLM model = tiny_model(257, 8);
  const Validation validation(data, 2, 2, 8);
  const Evaluation result = validation.run(model).value();
  EXPECT_EQ(result.tokens, 32);
  EXPECT_EQ(result.bytes, 32);
  EXPECT_NEAR(result.bits_per_byte(), result.loss() / std::log(2.0), 1e-9);
  EXPECT_EQ(result.floor_bits_per_byte(), std::nullopt);
  EXPECT_EQ(validation.run(model)->nats, result.nats);
  EXPECT_FALSE(validation.run(model, [] { return true; }).has_value());
  expect_error([&] { Validation(data, 2, 2, 64); },
               {"the validation text has 41 tokens", "context of at most 40", "--eval-every 0"});
}

// The windows of stories end with the story: what follows in memory does not count.
TEST(Validation, ComparesStoriesWithTheirFloor) {
  RunConfig config;
  config.data.corpus_bytes = 1'000;
  config.training.eval_batches = 1;
  config.training.batch = 2;
  config.model.context = 100;
  const Dataset data = load_dataset(config);
  const nn::TransformerLM model = tiny_model(257, 100);
  const Evaluation result = Validation(data, 1, 2, 100).run(model).value();
  double bits = 0;
  int64_t tokens = 0;
  for (const FloorWindow& window : data.floor_windows) {
    bits += window.bits;
    tokens += window.tokens;
  }
  EXPECT_EQ(result.tokens, tokens);
  EXPECT_DOUBLE_EQ(result.floor_bits, bits);
  // An untrained model is far above what the stories hold.
  EXPECT_GT(result.bits_per_byte(), 2 * result.floor_bits_per_byte().value());
}

TEST(StopMatcher, FindsStopsAcrossPieces) {
  StopMatcher matcher({"END", "###"});
  EXPECT_EQ(matcher.push("abE"), "ab");
  EXPECT_EQ(matcher.push("N"), "");
  EXPECT_EQ(matcher.push("x"), "ENx");
  EXPECT_EQ(matcher.push("#"), "");
  EXPECT_EQ(matcher.push("y##"), "#y");
  EXPECT_FALSE(matcher.stopped());
  EXPECT_EQ(matcher.push("#z"), "");
  EXPECT_TRUE(matcher.stopped());
  EXPECT_EQ(matcher.push("more"), "");
  EXPECT_EQ(matcher.finish(), "");
}

TEST(StopMatcher, TheFirstOfSeveralWinsAndTheEndGivesBackWhatWaits) {
  StopMatcher matcher({"bc", "abcd"});
  EXPECT_EQ(matcher.push("xabc"), "xa");
  EXPECT_TRUE(matcher.stopped());
  StopMatcher waiting({"stop"});
  EXPECT_EQ(waiting.push("full st"), "full ");
  EXPECT_EQ(waiting.finish(), "st");
  expect_error([] { StopMatcher({""}); }, {"--stop", "empty"});
}

class Silent : public TrainingObserver {
  void step_done(const StepReport&) override {}
};

std::string longest_overlap(const std::string& text, const std::vector<std::string>& others) {
  OverlapFinder finder(text);
  for (const std::string& other : others) {
    finder.search(other.substr(0, other.size() / 2));  // in portions
    finder.search(other.substr(other.size() / 2));
    finder.end_text();
  }
  return std::string(finder.longest());
}

TEST(Overlap, IsTheLongestCommonPassage) {
  EXPECT_EQ(longest_overlap("the black cat", {"a black cat sat", "the blackbird"}), " black cat");
  EXPECT_EQ(longest_overlap("abcabcabd", {"xabcabdx"}), "abcabd");
  EXPECT_EQ(longest_overlap("aaaa", {"aa", "aaaaaaaa"}), "aaaa");
  EXPECT_EQ(longest_overlap("abc", {"xyz", ""}), "");
  EXPECT_EQ(longest_overlap("", {"xyz"}), "");
}

// Against every pair of positions, on random texts of two letters.
TEST(Overlap, AgreesWithTheNaiveSearch) {
  Generator generator(4);
  const auto random_text = [&](size_t length) {
    std::string text;
    while (text.size() < length) text += static_cast<char>('a' + generator.below(2));
    return text;
  };
  for (int round = 0; round < 200; ++round) {
    const std::string text = random_text(1 + generator.below(30)), other = random_text(40);
    size_t longest = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      for (size_t length = longest + 1; i + length <= text.size(); ++length) {
        if (other.find(text.substr(i, length)) != std::string::npos) longest = length;
      }
    }
    const std::string found = longest_overlap(text, {other});
    EXPECT_EQ(found.size(), longest) << text << " " << other;
    EXPECT_NE(other.find(found), std::string::npos);
    EXPECT_NE(text.find(found), std::string::npos);
  }
}

// What is cut off first is not what people look at.
TEST(Progress, FitsItsLine) {
  StepReport report;
  report.step = 987'654;
  report.loss = 12.3456;
  report.lr = 1e-3;
  report.grad_norm = 123456.78;
  const auto bar = [&](int width) {
    return progress_bar(report, 1'000'000, 12'345, 36'000, width);
  };
  for (const int width : {1, 20, 40, 60, 79, 100, 119, 150, 200}) {
    EXPECT_LE(bar(width).size(), static_cast<size_t>(width)) << bar(width);
  }
  const std::string usual = bar(79);
  for (const char* part : {" 98 % ", "step 987654/1000000", "loss 12.3456", "10 h 00 min left"}) {
    EXPECT_NE(usual.find(part), std::string::npos) << part << " in " << usual;
  }
  EXPECT_EQ(usual.find("lr "), std::string::npos);
  const std::string wide = bar(200);
  for (const char* part : {"[=====", "lr 1.00e-03", "grad norm 123456.78", "12.3 k tokens/s"}) {
    EXPECT_NE(wide.find(part), std::string::npos) << part << " in " << wide;
  }
}

// The forecast is a promise: what a run really needs at its peak is near it, and not above.
TEST(MemoryForecast, IsNearThePeak) {
  TemporaryFolder folder;
  RunConfig config = config_for({folder.write("a.txt", std::string(3000, 'a'))});
  config.training.eval_every = 0;
  config.training.batch = 8;
  config.training.steps = 2;
  const Dataset data = load_dataset(config);
  const auto check = [&](const std::string& what) {
    Allocator& allocator = backend(kCpu).allocator();
    allocator.reset_peak();
    const auto before = static_cast<double>(allocator.stats().bytes_in_use);
    Trainer trainer(config, data, kCpu);
    Silent silent;
    trainer.run(silent);
    const double peak = static_cast<double>(allocator.stats().peak_bytes) - before;
    const double forecast = forecast_memory(config, 257, 0, kCpu).total();
    EXPECT_GE(forecast, 0.98 * peak) << what;
    EXPECT_LE(forecast, 1.5 * peak) << what;
  };
  check("default");
  config.model.ffn = nn::FeedForwardKind::gelu;
  config.model.norm = nn::NormKind::layer;
  config.model.kv_heads = 1;
  check("gelu, layer norm, one head of keys");
  config.training.checkpoint_activations = true;
  check("activation checkpoints");
  config.training.precision = Precision::bf16;
  check("activation checkpoints, bf16");
  config.training.checkpoint_activations = false;
  check("bf16");
}

}  // namespace
}  // namespace tapir::app
