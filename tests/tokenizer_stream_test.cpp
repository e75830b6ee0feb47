// Streams: encoding in portions, and showing text that comes in portions.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "apps/tokenizer/bpe_trainer.h"
#include "apps/tokenizer/stream_encoder.h"
#include "apps/tokenizer/text_blocks.h"
#include "apps/tokenizer/tokenizer.h"
#include "apps/tokenizer/utf8_stream.h"
#include "tests/support/tokenizer_cases.h"

namespace tapir::app {
namespace {

using testing::TextGenerator;
using Ids = std::vector<int32_t>;

TEST(StreamEncoder, GivesTheIdsOfTheWholeDocuments) {
  TextGenerator random(51);
  BpeTrainer trainer({.vocab_size = 400});
  trainer.add_text(random.text(20'000));
  const std::unique_ptr<Tokenizer> bpe = trainer.train();
  const std::unique_ptr<Tokenizer> bytes = make_byte_tokenizer();
  for (const Tokenizer* const tokenizer : {bpe.get(), bytes.get()}) {
    for (const SpecialText special : {SpecialText::kAsText, SpecialText::kParse}) {
      Ids expected;
      Ids streamed;
      StreamEncoder encoder(*tokenizer, special, [&](std::span<const int32_t> ids) {
        streamed.insert(streamed.end(), ids.begin(), ids.end());
      });
      for (const size_t parts : {0, 1, 100, 400'000, 3}) {
        const std::string document = random.text(parts);
        tokenizer->encode_append(document, expected, special);
        expected.push_back(*tokenizer->end_of_text());
        for (size_t at = 0; at < document.size();) {
          const size_t size = std::min(document.size() - at, 1 + random.below(5000));
          encoder.add_text(std::string_view(document).substr(at, size));
          at += size;
        }
        encoder.end_document();
      }
      const std::string last = "the last document is not ended\xE2\x82";
      tokenizer->encode_append(last, expected, special);
      encoder.add_text(last);
      encoder.finish();
      EXPECT_TRUE(streamed == expected) << tokenizer->kind();
    }
  }
}

struct Collected {
  std::vector<std::string> blocks;
  std::vector<std::string> documents = {""};
  size_t largest = 0;

  TextBlocks::Consumer consumer() {
    return [this](const std::vector<TextBlocks::Block>& list) {
      for (const TextBlocks::Block& block : list) {
        blocks.emplace_back(block.text);
        documents.back() += block.text;
        largest = std::max(largest, block.text.size());
        if (block.ends_document) documents.emplace_back();
      }
    };
  }
};

// Cuts after the last full stop.
size_t after_full_stop(std::string_view text) {
  const size_t at = text.rfind('.');
  return at == std::string_view::npos ? 0 : at + 1;
}

TEST(TextBlocks, CutsOnlyWhereItMay) {
  TextGenerator random(52);
  for (int round = 0; round < 200; ++round) {
    Collected collected;
    TextBlocks blocks(after_full_stop, collected.consumer(), {64, 16, 200});
    std::vector<std::string> documents = {""};
    for (int i = 0; i < 60; ++i) {
      std::string portion;
      while (random.below(8) != 0) portion += random.below(6) == 0 ? "." : "x";
      blocks.add_text(portion);
      documents.back() += portion;
      if (random.below(10) == 0) {
        blocks.end_document();
        documents.emplace_back();
      }
    }
    blocks.finish();
    ASSERT_EQ(collected.documents, documents);
    for (const std::string& document : documents) {
      if (document.empty()) continue;
      ASSERT_TRUE(std::find(collected.blocks.begin(), collected.blocks.end(), document) !=
                      collected.blocks.end() ||
                  document.find('.') != std::string::npos)
          << "cut without a full stop: " << document;
    }
  }
}

TEST(TextBlocks, BoundsTheMemoryWhereNoCutIsSafe) {
  Collected collected;
  TextBlocks blocks([](std::string_view) { return size_t{0}; }, collected.consumer(),
                    {64, 16, 256});
  const std::string text(10'000, 'x');
  for (size_t at = 0; at < text.size(); at += 50) blocks.add_text(text.substr(at, 50));
  blocks.finish();
  EXPECT_EQ(collected.documents, (std::vector<std::string>{text}));
  EXPECT_LE(collected.largest, 512u);
}

TEST(TextBlocks, EmptyDocumentsAreKept) {
  Collected collected;
  TextBlocks blocks(after_full_stop, collected.consumer());
  blocks.end_document();
  blocks.end_document();
  blocks.add_text("a");
  blocks.end_document();
  blocks.finish();
  EXPECT_EQ(collected.documents, (std::vector<std::string>{"", "", "a", ""}));
}

std::string show(const std::vector<std::string>& portions) {
  Utf8Stream stream;
  std::string text;
  for (const std::string& portion : portions) {
    const std::string shown = stream.push(portion);
    EXPECT_TRUE(is_valid_utf8(shown));
    text += shown;
  }
  return text + stream.finish();
}

TEST(Utf8Stream, WaitsForTheRestOfACharacter) {
  Utf8Stream stream;
  EXPECT_EQ(stream.push("a\xF0\x9F"), "a");
  EXPECT_EQ(stream.push("\x99"), "");
  EXPECT_EQ(stream.push("\x82"
                        "b"),
            "\xF0\x9F\x99\x82"
            "b");
  EXPECT_EQ(stream.finish(), "");
}

TEST(Utf8Stream, ReplacesWhatCannotBeACharacter) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(show({"a\xFF"
                  "b"}),
            "a" + bad + "b");
  EXPECT_EQ(show({"\x80\x80"}), bad + bad);
  EXPECT_EQ(show({"\xE2\x82", "x"}), bad + "x");       // one for a whole ill-formed start
  EXPECT_EQ(show({"\xF0\x9F\x99"}), bad);              // the text ends within a character
  EXPECT_EQ(show({"\xC0\xAF"}), bad + bad);            // an overlong form
  EXPECT_EQ(show({"\xED\xA0\x80"}), bad + bad + bad);  // a surrogate
  EXPECT_EQ(show({"\xF4\x90\x80\x80"}), bad + bad + bad + bad);
  // Table 3-8 of the Unicode standard.
  EXPECT_EQ(show({"\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"}),
            "a" + bad + bad + bad + "b" + bad + "c" + bad + bad + "d");
}

TEST(Utf8Stream, PortionsChangeNothing) {
  TextGenerator random(53);
  for (int round = 0; round < 500; ++round) {
    const std::string text = round % 2 == 0 ? random.text(20) : random.bytes(40);
    std::vector<std::string> single_bytes;
    for (const char byte : text) single_bytes.emplace_back(1, byte);
    ASSERT_EQ(show(single_bytes), show({text}));
    ASSERT_TRUE(!is_valid_utf8(text) || show({text}) == text);
  }
}

}  // namespace
}  // namespace tapir::app
