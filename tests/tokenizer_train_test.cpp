// Training of byte-level BPE against a naive reference.
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "apps/tokenizer/bpe_trainer.h"
#include "apps/tokenizer/merge_learner.h"
#include "apps/tokenizer/regex.h"
#include "apps/tokenizer/split_rule.h"
#include "apps/tokenizer/word_counter.h"
#include "backends/cpu/threads.h"
#include "tests/support/expect_error.h"
#include "tests/support/tokenizer_cases.h"

namespace tapir::app {
namespace {

using testing::TextGenerator;
using BytePair = std::pair<std::string, std::string>;

// Recounts every pair after every merge, on strings.
class NaiveTrainer {
 public:
  void add(std::string_view word, int64_t count) {
    std::vector<std::string> symbols;
    for (const char byte : word) symbols.emplace_back(1, byte);
    words_.emplace_back(std::move(symbols), count);
  }

  std::vector<BytePair> learn(size_t merge_count, int64_t min_count) {
    std::vector<BytePair> merges;
    while (merges.size() < merge_count) {
      std::map<BytePair, int64_t> counts;
      for (const auto& [symbols, count] : words_) {
        for (size_t i = 0; i + 1 < symbols.size(); ++i)
          counts[{symbols[i], symbols[i + 1]}] += count;
      }
      const BytePair* best = nullptr;
      int64_t best_count = min_count;
      for (const auto& [pair, count] : counts) {  // ascending: the last of equals is the greatest
        if (count >= best_count) {
          best = &pair;
          best_count = count;
        }
      }
      if (best == nullptr) break;
      merges.push_back(*best);
      for (auto& [symbols, count] : words_) join(symbols, *best);
    }
    return merges;
  }

 private:
  static void join(std::vector<std::string>& symbols, const BytePair& pair) {
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      if (symbols[i] != pair.first || symbols[i + 1] != pair.second) continue;
      symbols[i] += symbols[i + 1];
      symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    }
  }

  std::vector<std::pair<std::vector<std::string>, int64_t>> words_;
};

std::vector<BytePair> merges_of(const MergeLearner& learner) {
  std::vector<BytePair> merges;
  for (const Merge& merge : learner.merges()) {
    merges.emplace_back(learner.tokens()[static_cast<size_t>(merge.left)],
                        learner.tokens()[static_cast<size_t>(merge.right)]);
  }
  return merges;
}

TEST(MergeLearner, EqualsTheNaiveReference) {
  TextGenerator random(21);
  for (int round = 0; round < 60; ++round) {
    // Few letters and small counts: many ties, many overlapping pairs like "aaa".
    const size_t letters = 1 + random.below(4);
    NaiveTrainer naive;
    MergeLearner learner;
    for (int i = 0; i < 40; ++i) {
      std::string word;
      const size_t length = 1 + random.below(14);
      while (word.size() < length) word.push_back(static_cast<char>('a' + random.below(letters)));
      const auto count = static_cast<int64_t>(1 + random.below(5));
      naive.add(word, count);
      learner.add_word(word, static_cast<uint64_t>(count));
    }
    const int64_t min_count = 1 + static_cast<int64_t>(random.below(4));
    learner.learn(256 + 30, min_count);
    const std::vector<BytePair> merges = merges_of(learner);
    ASSERT_EQ(merges, naive.learn(merges.size(), min_count)) << "round " << round;
    if (learner.tokens().size() < 256 + 30) {
      EXPECT_EQ(naive.learn(1, min_count).size(), 0u) << "stopped too early";
    }
  }
}

TEST(MergeLearner, BreaksTiesByByteStrings) {
  MergeLearner learner;
  // Byte 0x80 is greater than 'z', though a signed char would say otherwise.
  learner.add_word("ab", 3);
  learner.add_word("zz", 3);
  learner.add_word("\x80z", 3);
  learner.learn(256 + 3, 1);
  EXPECT_EQ(merges_of(learner), (std::vector<BytePair>{{"\x80", "z"}, {"z", "z"}, {"a", "b"}}));
}

TEST(MergeLearner, ComparesTheLeftPartsFirst) {
  MergeLearner learner;
  learner.add_word("ab", 5);
  learner.add_word("abc", 4);  // now (ab, c) ties with (b, x)
  learner.add_word("bx", 4);
  learner.learn(256 + 2, 1);
  EXPECT_EQ(merges_of(learner), (std::vector<BytePair>{{"a", "b"}, {"b", "x"}}));
}

std::string sample_text(uint64_t seed, size_t words) {
  TextGenerator random(seed);
  std::string text;
  for (size_t i = 0; i < words; ++i) text += random.text(1 + random.below(6), true);
  return text;
}

std::unique_ptr<Tokenizer> train_on(std::string_view text, BpeTrainerOptions options,
                                    size_t portion = std::string::npos) {
  BpeTrainer trainer(std::move(options));
  while (!text.empty()) {
    trainer.add_text(text.substr(0, portion));
    text.remove_prefix(std::min(portion, text.size()));
  }
  return trainer.train();
}

TEST(BpeTrainer, EqualsTheNaiveReferenceOnText) {
  const std::string text = sample_text(22, 3000);
  const std::string special = kEndOfText;
  for (const SplitRule rule : {SplitRule::kGpt2, SplitRule::kLlama3}) {
    const Regex regex(pcre2_pattern(rule));
    Regex::Matcher matcher(regex);
    std::map<std::string, int64_t> words;
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(special, begin), text.size());
      const std::string_view document = std::string_view(text).substr(begin, end - begin);
      for (size_t at = 0; at < document.size();) {
        const size_t next = matcher.find(document, at).end;
        ++words[std::string(document.substr(at, next - at))];
        at = next;
      }
      begin = end + special.size();
    }
    NaiveTrainer naive;
    for (const auto& [word, count] : words) naive.add(word, count);
    const std::vector<BytePair> expected = naive.learn(80, 2);

    BpeTrainerOptions options;
    options.vocab_size = 256 + 80 + 1;
    options.rule = rule;
    const std::unique_ptr<Tokenizer> tokenizer = train_on(text, options);
    ASSERT_EQ(tokenizer->vocab_size(), options.vocab_size);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(tokenizer->token_bytes(256 + static_cast<int32_t>(i)),
                expected[i].first + expected[i].second);
    }
    EXPECT_EQ(tokenizer->token_bytes(256 + 80), special);
    EXPECT_EQ(tokenizer->end_of_text(), 256 + 80);
  }
}

TEST(BpeTrainer, PortionsAndThreadsChangeNothing) {
  const std::string text = sample_text(23, 200'000);
  BpeTrainerOptions options;
  options.vocab_size = 600;
  const std::string expected = train_on(text, options)->hash();
  EXPECT_EQ(train_on(text, options, 1000)->hash(), expected);
  EXPECT_EQ(train_on(std::string_view(text), options, 7)->hash(), expected);
  const int threads = cpu::threads();
  for (const int count : {1, 3}) {
    cpu::set_threads(count);
    EXPECT_EQ(train_on(text, options)->hash(), expected) << count << " threads";
  }
  cpu::set_threads(threads);
}

TEST(BpeTrainer, PiecesDoNotCrossDocuments) {
  BpeTrainerOptions options;
  options.vocab_size = 300;
  BpeTrainer trainer(options);
  for (int i = 0; i < 10; ++i) {
    trainer.add_text("q");
    trainer.end_document();
    trainer.add_text("x<|endoftext|>");
  }
  const std::unique_ptr<Tokenizer> tokenizer = trainer.train();
  EXPECT_EQ(tokenizer->vocab_size(), 257);  // no two bytes are ever neighbours
}

TEST(BpeTrainer, SpecialTokensAreNeitherSplitNorLearned) {
  BpeTrainerOptions options;
  options.vocab_size = 300;
  options.special_tokens = {"<|endoftext|>", "<|end|>", "\xE6\x98\xA5\xE6\x98\xA5"};
  std::string text;
  for (int i = 0; i < 50; ++i) text += "ab<|end|>\xE6\x98\xA5\xE6\x98\xA5";
  const std::unique_ptr<Tokenizer> tokenizer = train_on(text, options);
  EXPECT_EQ(tokenizer->vocab_size(), 256 + 1 + 3);  // "ab" is the only pair
  EXPECT_EQ(tokenizer->encode(text.substr(0, 15), SpecialText::kParse),
            (std::vector<int32_t>{256, 258, 259}));
}

TEST(BpeTrainer, TooLittleTextGivesASmallerVocabulary) {
  BpeTrainerOptions options;
  options.vocab_size = 5000;
  const std::unique_ptr<Tokenizer> tokenizer = train_on("aa aa", options);
  EXPECT_EQ(tokenizer->vocab_size(), 256 + 1 + 1);
  EXPECT_EQ(train_on("", options)->vocab_size(), 257);
}

TEST(BpeTrainer, ForgetsRareWordsWhenThereAreTooMany) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "ab ";
  for (char a = 'a'; a <= 'z'; ++a) text += std::string(2, a) + "x ";
  BpeTrainerOptions options;
  options.vocab_size = 300;
  options.min_pair_count = 1;
  options.special_tokens = {};
  EXPECT_EQ(train_on(text, options)->vocab_size(), 300);
  options.max_words = 4;
  EXPECT_EQ(train_on(text, options)->vocab_size(), 256 + 2);  // "ab" and " ab" are left
}

TEST(BpeTrainer, ImpossibleOptionsAreErrors) {
  const auto with = [](auto change) {
    BpeTrainerOptions options;
    change(options);
    return [options] { BpeTrainer trainer(options); };
  };
  using testing::expect_error;
  expect_error(with([](BpeTrainerOptions& o) { o.vocab_size = 256; }),
               {"vocabulary of 256", "257"});
  expect_error(with([](BpeTrainerOptions& o) { o.vocab_size = 1 << 25; }),
               {"33554432", "16777216"});
  expect_error(with([](BpeTrainerOptions& o) { o.min_pair_count = 0; }), {"min_pair_count is 0"});
  expect_error(with([](BpeTrainerOptions& o) {
                 o.special_tokens = {"<a>", "<a>"};
               }),
               {"<a>", "twice"});
  expect_error(with([](BpeTrainerOptions& o) { o.special_tokens = {""}; }), {"shorter"});
  expect_error(with([](BpeTrainerOptions& o) { o.special_tokens = {"\xFF\xFF"}; }), {"UTF-8"});
}

TEST(WordCounter, ForgetsTheRarestFirst) {
  WordCounter words;
  const std::string text = "a bb bb ccc ccc ccc a-word-that-is-longer-than-sixteen-bytes";
  const auto add = [&](size_t begin, size_t end) {
    words.add(text.data() + begin, text.data() + end, text.data() + text.size());
  };
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    add(begin, end);
    begin = end + 1;
  }
  EXPECT_EQ(words.size(), 4u);
  words.drop_rarest(3);
  std::map<std::string, uint64_t> left;
  words.for_each([&](std::string_view word, uint64_t count) { left[std::string(word)] = count; });
  EXPECT_EQ(left, (std::map<std::string, uint64_t>{{"bb", 2}, {"ccc", 3}}));
}

}  // namespace
}  // namespace tapir::app
