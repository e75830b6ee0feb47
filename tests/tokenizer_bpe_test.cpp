// Encoding with byte-pair merges.
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "apps/tokenizer/bpe_merger.h"
#include "apps/tokenizer/bpe_model.h"
#include "apps/tokenizer/tokenizer.h"
#include "tests/support/expect_error.h"
#include "tests/support/tokenizer_cases.h"

namespace tapir::app {
namespace {

using testing::expect_error;
using testing::TextGenerator;
using Ids = std::vector<int32_t>;

BpeModel bytes_only() {
  BpeModel model;
  for (int byte = 0; byte < 256; ++byte) model.tokens.emplace_back(1, static_cast<char>(byte));
  return model;
}

// Merges of random tokens over a few letters; not the kind that training would give.
BpeModel random_model(TextGenerator& random, size_t merges, size_t letters) {
  BpeModel model = bytes_only();
  std::vector<int32_t> usable;
  for (size_t i = 0; i < letters; ++i) usable.push_back(static_cast<int32_t>('a' + i));
  std::set<std::pair<int32_t, int32_t>> pairs;
  std::set<std::string> texts;
  while (model.merges.size() < merges) {
    const int32_t left = usable[random.below(usable.size())];
    const int32_t right = usable[random.below(usable.size())];
    const std::string text =
        model.tokens[static_cast<size_t>(left)] + model.tokens[static_cast<size_t>(right)];
    if (text.size() > 20 || texts.count(text) > 0 || !pairs.emplace(left, right).second) continue;
    texts.insert(text);
    const auto product = static_cast<int32_t>(model.tokens.size());
    model.tokens.push_back(text);
    model.merges.push_back({left, right, product});
    usable.push_back(product);
  }
  // The order of the merges need not be that of the ids.
  for (size_t i = merges - 1; i > 0; --i) {
    std::swap(model.merges[i], model.merges[random.below(i + 1)]);
  }
  return model;
}

// Looks for the first merge in the list that fits anywhere, again and again.
Ids merge_naively(const BpeModel& model, std::string_view piece) {
  Ids ids;
  for (const char byte : piece) ids.push_back(static_cast<uint8_t>(byte));
  for (size_t rank = 0; rank < model.merges.size();) {
    const Merge& merge = model.merges[rank];
    const Ids pair = {merge.left, merge.right};
    const auto found = std::search(ids.begin(), ids.end(), pair.begin(), pair.end());
    if (found == ids.end()) {
      ++rank;
      continue;
    }
    *found = merge.product;
    ids.erase(found + 1);
    rank = 0;
  }
  return ids;
}

TEST(BpeMerger, ShortAndLongPiecesEqualTheNaiveReference) {
  TextGenerator random(41);
  std::array<int32_t, 256> byte_ids{};
  for (int byte = 0; byte < 256; ++byte) byte_ids[static_cast<size_t>(byte)] = byte;
  for (int round = 0; round < 20; ++round) {
    const size_t letters = 1 + random.below(4);
    const BpeModel model = random_model(random, letters == 1 ? 8 : 40, letters);
    const BpeMerger merger(model, byte_ids);
    for (int i = 0; i < 50; ++i) {
      std::string piece;
      const size_t length = 1 + random.below(i % 2 == 0 ? 48 : 200);
      while (piece.size() < length) piece.push_back(static_cast<char>('a' + random.below(letters)));
      Ids ids;
      merger.append(piece, ids);
      ASSERT_EQ(ids, merge_naively(model, piece)) << piece;
    }
  }
}

TEST(BpeMerger, AMillionEqualBytesTakeNoQuadraticTime) {
  TextGenerator random(42);
  const auto tokenizer = make_bpe_tokenizer(random_model(random, 8, 1));
  const std::string text(1'000'000, 'a');
  EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
}

TEST(BpeTokenizer, LongTextsUseAnIndexAndCachesWithoutChangingIds) {
  TextGenerator random(43);
  const BpeModel model = random_model(random, 60, 3);
  const auto tokenizer = make_bpe_tokenizer(model);
  std::string text;
  Ids expected;
  for (int i = 0; i < 30'000; ++i) {
    std::string piece = i == 0 ? "" : " ";
    const size_t length = 1 + random.below(i % 10 == 0 ? 30 : 4);
    for (size_t k = 0; k < length; ++k) piece.push_back(static_cast<char>('a' + random.below(3)));
    text += piece;
    for (const int32_t id : merge_naively(model, piece)) expected.push_back(id);
  }
  EXPECT_EQ(tokenizer->encode(text), expected);
  EXPECT_EQ(tokenizer->encode(text), expected);  // now with warm caches
}

TEST(BpeTokenizer, IgnoreMergesTakesWholePiecesFirst) {
  BpeModel model = bytes_only();
  model.tokens.push_back("abc");  // 256: no merge makes it
  const auto merges_matter = make_bpe_tokenizer(model);
  EXPECT_EQ(merges_matter->encode("abc abc"), (Ids{97, 98, 99, 32, 97, 98, 99}));
  model.ignore_merges = true;
  const auto ignored = make_bpe_tokenizer(model);
  EXPECT_EQ(ignored->encode("abc abc"), (Ids{256, 32, 97, 98, 99}));
  EXPECT_NE(ignored->hash(), merges_matter->hash());
}

TEST(BpeTokenizer, OrdinaryAddedTokensAreAlwaysMatched) {
  BpeModel model = bytes_only();
  model.tokens.push_back("<tab>");
  model.added.push_back({256, "<tab>", false});
  const auto tokenizer = make_bpe_tokenizer(model);
  EXPECT_EQ(tokenizer->encode("a<tab>"), (Ids{97, 256}));
  EXPECT_EQ(tokenizer->decode(Ids{97, 256}), "a<tab>");
  EXPECT_EQ(tokenizer->end_of_text(), std::nullopt);
}

TEST(BpeTokenizer, ImpossibleModelsAreErrors) {
  const auto with = [](auto change) {
    BpeModel model = bytes_only();
    model.tokens.push_back("ab");
    change(model);
    return [model] { make_bpe_tokenizer(model); };
  };
  expect_error(with([](BpeModel& m) { m.tokens[10] = "xy"; }), {"byte 0x0a"});
  expect_error(with([](BpeModel& m) {
                 m.merges = {{97, 98, 257}};
               }),
               {"merge 0", "outside 0 .. 256"});
  expect_error(with([](BpeModel& m) { m.merges = {{-1, 98, 256}}; }), {"merge 0"});
  expect_error(with([](BpeModel& m) { m.merges = {{97, 99, 256}}; }), {"merge 0", "two parts"});
  expect_error(with([](BpeModel& m) {
                 m.merges = {{97, 98, 256}, {97, 98, 256}};
               }),
               {"merge 1", "second time"});
  expect_error(with([](BpeModel& m) { m.added = {{300, "<x>"}}; }), {"<x>", "300"});
}

}  // namespace
}  // namespace tapir::app
