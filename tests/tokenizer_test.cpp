// What holds for every tokenizer, and the byte and char tokenizers.
#include "apps/tokenizer/tokenizer.h"

#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "apps/tokenizer/added_tokens.h"
#include "apps/tokenizer/bpe_model.h"
#include "apps/tokenizer/bpe_trainer.h"
#include "apps/tokenizer/byte_level.h"
#include "apps/tokenizer/char_tokenizer.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tokenizer_cases.h"

namespace tapir::app {
namespace {

using testing::expect_error;
using testing::TextGenerator;
using Ids = std::vector<int32_t>;

std::unique_ptr<Tokenizer> make_char() {
  CharTrainer trainer;
  trainer.add_text("\xE6\x98\xA5 \xC3");  // the two bytes of U+00E9 come in two portions
  trainer.add_text("\xA9 \xF0\x9F\x99\x82 abc \xFF \xE6\x98");
  return trainer.train();
}

std::unique_ptr<Tokenizer> make_bpe(SplitRule rule = SplitRule::kGpt2) {
  BpeTrainerOptions options;
  options.vocab_size = 500;
  options.special_tokens = {"<|endoftext|>", "<|pad|>"};
  options.rule = rule;
  BpeTrainer trainer(options);
  trainer.add_text(TextGenerator(31).text(20'000));
  return trainer.train();
}

std::vector<std::unique_ptr<Tokenizer>> all_kinds() {
  std::vector<std::unique_ptr<Tokenizer>> tokenizers;
  tokenizers.push_back(make_byte_tokenizer());
  tokenizers.push_back(make_char());
  tokenizers.push_back(make_bpe());
  tokenizers.push_back(make_bpe(SplitRule::kLlama3));
  return tokenizers;
}

TEST(Tokenizer, DecodeGivesEveryByteStringBack) {
  TextGenerator random(32);
  for (const auto& tokenizer : all_kinds()) {
    for (int i = 0; i < 500; ++i) {
      const std::string text = i % 2 == 0 ? random.bytes(random.below(300)) : random.text(50);
      const Ids ids = tokenizer->encode(text);
      ASSERT_EQ(tokenizer->decode(ids), text) << tokenizer->kind();
      for (const int32_t id : ids) {
        ASSERT_GE(id, 0);
        ASSERT_LT(id, tokenizer->vocab_size());
        ASSERT_FALSE(tokenizer->is_special(id)) << "text alone must not make special tokens";
      }
    }
  }
}

TEST(Tokenizer, SpecialTokensAreParsedOnlyWhenAsked) {
  for (const auto& tokenizer : all_kinds()) {
    const int32_t end = tokenizer->end_of_text().value();
    const std::string text = "a<|endoftext|>b<|endoftext|>";
    EXPECT_EQ(tokenizer->encode(text, SpecialText::kParse),
              (Ids{tokenizer->encode("a")[0], end, tokenizer->encode("b")[0], end}));
    const Ids ids = tokenizer->encode(text, SpecialText::kParse);
    EXPECT_EQ(tokenizer->decode(ids), "ab");
    EXPECT_EQ(tokenizer->decode(ids, SpecialOutput::kKeep), text);
    EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
    EXPECT_EQ(tokenizer->token_bytes(end), kEndOfText);
    EXPECT_EQ(tokenizer->find_special("<|none|>"), std::nullopt);
  }
}

TEST(Tokenizer, IdsOutOfRangeAreErrors) {
  for (const auto& tokenizer : all_kinds()) {
    const int32_t size = tokenizer->vocab_size();
    for (const int32_t id : {-1, size, INT32_MIN, INT32_MAX}) {
      expect_error([&] { tokenizer->token_bytes(id); }, {std::to_string(id), "outside 0 .. "});
      expect_error([&] { tokenizer->decode(Ids{0, id}); }, {std::to_string(id)});
    }
  }
}

TEST(Tokenizer, TravelsAsJsonAndAsAFolder) {
  const testing::TemporaryFolder folder;
  const std::string text = TextGenerator(33).text(300);
  for (const auto& tokenizer : all_kinds()) {
    const auto from_json = tokenizer_from_json(tokenizer_to_json(*tokenizer));
    const std::filesystem::path dir = folder / tokenizer->kind();
    tokenizer->save(dir);
    const auto from_folder = load_tokenizer(dir);
    const auto from_file = load_tokenizer(dir / "tokenizer.json");
    for (const auto* copy : {&from_json, &from_folder, &from_file}) {
      EXPECT_EQ((*copy)->kind(), tokenizer->kind());
      EXPECT_EQ((*copy)->hash(), tokenizer->hash());
      EXPECT_EQ((*copy)->encode(text), tokenizer->encode(text));
      EXPECT_EQ((*copy)->end_of_text(), tokenizer->end_of_text());
    }
  }
}

TEST(Tokenizer, HashesAreStableAndTellTokenizersApart) {
  // Stored in checkpoints and token files: these must never change.
  EXPECT_EQ(make_byte_tokenizer()->hash(), "f8bbe845b5a65fad");
  EXPECT_EQ(make_char()->hash(), "bdc6b6da03df04b1");
  EXPECT_NE(make_bpe()->hash(), make_bpe(SplitRule::kLlama3)->hash());
}

TEST(Tokenizer, SeveralThreadsMayEncodeAtOnce) {
  const auto tokenizer = make_bpe();
  const std::string text = TextGenerator(34).text(20'000);
  const Ids expected = make_bpe()->encode(text);
  std::vector<Ids> results(4);
  std::vector<std::thread> threads;
  for (Ids& result : results) {
    threads.emplace_back([&] { result = tokenizer->encode(text); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Ids& result : results) EXPECT_EQ(result, expected);
}

TEST(Tokenizer, SafeCutsDoNotChangeTheIds) {
  TextGenerator random(35);
  for (const auto& tokenizer : all_kinds()) {
    for (const SpecialText special : {SpecialText::kAsText, SpecialText::kParse}) {
      for (int i = 0; i < 500; ++i) {
        const std::string text = random.text(20);
        const std::string whole = text + random.text(8);
        const size_t cut = tokenizer->safe_cut(text, special);
        ASSERT_LE(cut, text.size());
        Ids ids = tokenizer->encode(whole.substr(0, cut), special);
        tokenizer->encode_append(whole.substr(cut), ids, special);
        ASSERT_EQ(ids, tokenizer->encode(whole, special)) << tokenizer->kind() << ": " << whole;
      }
    }
  }
}

TEST(ByteTokenizer, IdsAreTheBytes) {
  const auto tokenizer = make_byte_tokenizer();
  EXPECT_EQ(tokenizer->vocab_size(), 257);
  EXPECT_EQ(tokenizer->end_of_text(), 256);
  EXPECT_EQ(tokenizer->encode(std::string_view("a\0\xFF", 3)), (Ids{97, 0, 255}));
}

TEST(CharTokenizer, KnowsTheCharactersOfItsTextAndFallsBackToBytes) {
  const auto tokenizer = make_char();
  EXPECT_EQ(tokenizer->vocab_size(), 256 + 3 + 1);
  // By code point: U+00E9, U+6625, U+1F642.
  EXPECT_EQ(tokenizer->encode("a\xC3\xA9\xE6\x98\xA5\xF0\x9F\x99\x82"), (Ids{97, 256, 257, 258}));
  EXPECT_EQ(tokenizer->encode("\xC3\xA8"), (Ids{0xC3, 0xA8}));
  EXPECT_EQ(tokenizer->encode("\xE6\x98"), (Ids{0xE6, 0x98}));
  EXPECT_EQ(tokenizer->end_of_text(), 259);
}

TEST(CharTokenizer, OnlyAscendingCharactersAreAccepted) {
  expect_error([] { make_char_tokenizer({0x7F}); }, {"U+007F"});
  expect_error([] { make_char_tokenizer({0x100, 0x100}); }, {"character 1", "U+0100"});
  expect_error([] { make_char_tokenizer({0xD800}); }, {"U+D800"});
  expect_error([] { make_char_tokenizer({0x110000}); }, {"U+110000"});
}

TEST(AddedTokens, TheLeftmostAndOfThoseTheLongestIsFound) {
  const AddedTokenMatcher matcher({{1, "<a>"}, {2, "<a>b"}, {3, "a>"}, {4, "<a>bc"}, {5, "zz"}});
  const auto find = [&](std::string_view text, size_t from) {
    const AddedTokenMatcher::Match match = matcher.find(text, from);
    return Ids{static_cast<int32_t>(match.begin), static_cast<int32_t>(match.end), match.id};
  };
  EXPECT_EQ(find("x<a>bd", 0), (Ids{1, 5, 2}));
  EXPECT_EQ(find("x<a>bcd", 0), (Ids{1, 6, 4}));
  EXPECT_EQ(find("x<a>bd", 2), (Ids{2, 4, 3}));
  EXPECT_EQ(find("zzz", 0), (Ids{0, 2, 5}));
  EXPECT_EQ(find("x<a", 0), (Ids{0, 0, -1}));
  EXPECT_EQ(AddedTokenMatcher().find("abc", 0).end, 0u);
}

TEST(ByteLevel, SpellsEveryByteAsOneCharacter) {
  std::string bytes(256, '\0');
  std::iota(bytes.begin(), bytes.end(), '\0');
  const std::string text = to_byte_level(bytes);
  EXPECT_EQ(from_byte_level(text), bytes);
  EXPECT_EQ(to_byte_level(" a\n\xC3"),
            "\xC4\xA0"
            "a\xC4\x8A\xC3\x83");  // as in vocab.json
  EXPECT_EQ(from_byte_level(" "), std::nullopt);
  EXPECT_EQ(from_byte_level("\xC5\x84"), std::nullopt);  // U+0144, the first character too many
  EXPECT_EQ(from_byte_level("\xFF"), std::nullopt);
}

}  // namespace
}  // namespace tapir::app
