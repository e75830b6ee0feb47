// Pre-tokenization: the hand-written splitter against PCRE2, and where text may be cut.
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "apps/tokenizer/char_class.h"
#include "apps/tokenizer/piece_splitter.h"
#include "apps/tokenizer/regex.h"
#include "apps/tokenizer/split_rule.h"
#include "apps/tokenizer/utf8.h"
#include "tests/support/expect_error.h"
#include "tests/support/tokenizer_cases.h"

namespace tapir::app {
namespace {

using testing::TextGenerator;
using Pieces = std::vector<std::string>;

constexpr SplitRule kRules[] = {SplitRule::kGpt2, SplitRule::kLlama3, SplitRule::kCl100k};

Pieces split(std::string_view text, SplitRule rule) {
  Pieces pieces;
  PieceSplitter splitter(rule);
  splitter.for_each(text,
                    [&](const char* begin, const char* end) { pieces.emplace_back(begin, end); });
  return pieces;
}

// What the pattern alone gives for the valid parts, each taken as a text, and whole runs of other
// bytes: the definition that the splitter must meet.
Pieces split_by_pattern(std::string_view text, SplitRule rule) {
  const Regex regex(pcre2_pattern(rule));
  Regex::Matcher matcher(regex);
  Pieces pieces;
  bool invalid_before = false;
  while (!text.empty()) {
    const std::string_view valid = text.substr(0, valid_utf8_prefix(text));
    for (size_t at = 0; at < valid.size();) {
      const Regex::Match match = matcher.find(valid, at);
      EXPECT_TRUE(match.found && match.begin == at && match.end > at);
      pieces.emplace_back(valid.substr(at, match.end - at));
      at = match.end;
    }
    if (!valid.empty()) invalid_before = false;
    text.remove_prefix(valid.size());
    if (text.empty()) break;
    if (!invalid_before) pieces.emplace_back();
    pieces.back() += text[0];
    text.remove_prefix(1);
    invalid_before = true;
  }
  return pieces;
}

std::string joined(const Pieces& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

TEST(TokenizerSplit, Gpt2CutsAsPublished) {
  EXPECT_EQ(split("Hello, I'm  here!\n\n ok", SplitRule::kGpt2),
            (Pieces{"Hello", ",", " I", "'m", " ", " here", "!", "\n\n", " ok"}));
  EXPECT_EQ(split("x1234 's''ll", SplitRule::kGpt2), (Pieces{"x", "1234", " '", "s", "''", "ll"}));
}

TEST(TokenizerSplit, Llama3CutsAsPublished) {
  EXPECT_EQ(split("Hello, I'M 12345\n\n (ok)\n", SplitRule::kLlama3),
            (Pieces{"Hello", ",", " I", "'M", " ", "123", "45", "\n\n", " (", "ok", ")\n"}));
}

TEST(TokenizerSplit, HandWrittenSplitterEqualsThePattern) {
  TextGenerator random(11);
  for (int i = 0; i < 4000; ++i) {
    const std::string text = random.text(1 + random.below(40), i % 2 == 0);
    ASSERT_EQ(split(text, SplitRule::kGpt2), split_by_pattern(text, SplitRule::kGpt2)) << text;
  }
  for (int i = 0; i < 300; ++i) {
    const std::string text = random.bytes(random.below(200));
    ASSERT_EQ(split(text, SplitRule::kGpt2), split_by_pattern(text, SplitRule::kGpt2));
  }
}

TEST(TokenizerSplit, EveryRuleKeepsAllBytes) {
  TextGenerator random(12);
  for (const SplitRule rule : kRules) {
    for (int i = 0; i < 300; ++i) {
      const std::string text = random.text(30);
      EXPECT_EQ(split(text, rule), split_by_pattern(text, rule));
      EXPECT_EQ(joined(split(text, rule)), text);
    }
  }
}

TEST(TokenizerSplit, EveryCodePointHasPcre2sClass) {
  const std::vector<std::pair<std::string, CharClass>> sets = {
      {R"(\p{L})", CharClass::kLetter},
      {R"(\p{N})", CharClass::kNumber},
      {std::string("[") + kSpaceSet + "]", CharClass::kSpace}};
  for (const auto& [pattern, wanted] : sets) {
    const Regex regex(pattern);
    Regex::Matcher matcher(regex);
    for (uint32_t value = 0; value < kCodePointCount; ++value) {
      if (value >= 0xD800 && value < 0xE000) continue;
      std::string text;
      append_utf8(text, value);
      const CharClass found = classify(text.data(), text.data() + text.size()).value;
      ASSERT_EQ(found == wanted, matcher.find(text, 0).found) << std::hex << value;
    }
  }
}

TEST(TokenizerSplit, LongRunsNeedNoDeepStack) {
  for (const SplitRule rule : kRules) {
    for (const std::string unit : {" ", "\n", "a", "\xE6\x98\xA5", "7", "-", "\xE3\x80\x80"}) {
      std::string text;
      while (text.size() < 3'000'000) text += unit;
      EXPECT_EQ(joined(split(text, rule)), text) << split_rule_name(rule);
    }
  }
}

TEST(TokenizerSplit, SafeCutsDoNotChangeThePieces) {
  TextGenerator random(13);
  int cuts = 0;
  for (int i = 0; i < 3000; ++i) {
    const std::string text = random.text(12);
    const std::string more = random.text(6);
    const size_t cut = last_safe_cut(text);
    ASSERT_LE(cut, text.size());
    cuts += cut > 0 ? 1 : 0;
    const std::string whole = text + more;
    for (const SplitRule rule : kRules) {
      Pieces pieces = split(std::string_view(whole).substr(0, cut), rule);
      for (std::string& piece : split(std::string_view(whole).substr(cut), rule)) {
        pieces.push_back(std::move(piece));
      }
      ASSERT_EQ(pieces, split(whole, rule)) << text << "|" << more;
    }
  }
  EXPECT_GT(cuts, 1000);  // or the test would show nothing
}

TEST(TokenizerSplit, EveryPublishedSpellingIsKnown) {
  for (const SplitRule rule : kRules) {
    EXPECT_EQ(split_rule_from_pattern(published_pattern(rule)), rule);
    EXPECT_EQ(split_rule_from_name(split_rule_name(rule)), rule);
  }
  EXPECT_EQ(split_rule_from_pattern(R"(\w+|\s+)"), std::nullopt);
  testing::expect_error([] { split_rule_from_name("gpt5"); }, {"gpt5", "gpt2", "llama3"});
}

}  // namespace
}  // namespace tapir::app
