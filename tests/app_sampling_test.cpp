// Tokens in memory and in files, how they are split, and in which order a run sees them.
#include <algorithm>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "apps/data/mapped_tokens.h"
#include "apps/data/permutation.h"
#include "apps/data/split.h"
#include "apps/data/token_buffer.h"
#include "apps/data/window_sampler.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace tapir::app {
namespace {

using tapir::testing::expect_error;
using tapir::testing::TemporaryFolder;

TokenSequence count_up(int64_t size, int64_t vocab_size = 1000) {
  const auto tokens = std::make_shared<TokenBuffer>(vocab_size);
  for (int32_t i = 0; i < size; ++i) tokens->append({{i}});
  return TokenSequence(tokens);
}

std::vector<int32_t> all_of(const TokenSequence& tokens) {
  std::vector<int32_t> ids(static_cast<size_t>(tokens.size()));
  tokens.copy(0, ids);
  return ids;
}

TEST(TokenBuffer, HoldsSmallAndLargeIds) {
  for (const int64_t vocab_size : {65'536, 65'537}) {
    const auto tokens = std::make_shared<TokenBuffer>(vocab_size);
    const std::vector<int32_t> ids = {0, 65'535, 7};
    tokens->append(ids);
    EXPECT_EQ(all_of(TokenSequence(tokens)), ids);
    EXPECT_EQ(TokenSequence(tokens).memory_bytes(), vocab_size == 65'536 ? 6 : 12);
  }
}

// More than two chunks, appended and read across their borders.
TEST(TokenBuffer, GrowsInChunks) {
  for (const int64_t vocab_size : {60'000, 70'000}) {
    TokenBuffer tokens(vocab_size);
    std::vector<int32_t> ids(2'500'000);
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int32_t>(i * 7919 % 60'000);
    const std::span<const int32_t> all = ids;
    tokens.append(all.first(700'000));
    tokens.append(all.subspan(700'000));
    std::vector<int32_t> read(ids.size());
    tokens.read(0, read);
    EXPECT_TRUE(read == ids);
    read.resize(10);
    tokens.read((1 << 20) - 5, read);
    EXPECT_TRUE(std::equal(read.begin(), read.end(), ids.begin() + (1 << 20) - 5));
    const uint64_t before = tokens.fingerprint();
    tokens.append({{1}});
    EXPECT_NE(tokens.fingerprint(), before);
  }
}

TEST(TokenSequence, JoinsSlices) {
  const TokenSequence numbers = count_up(100);
  TokenSequence some = numbers.part(10, 5);
  some.append(numbers.part(50, 3));
  some.append(numbers.part(53, 2));
  EXPECT_EQ(all_of(some), (std::vector<int32_t>{10, 11, 12, 13, 14, 50, 51, 52, 53, 54}));
  EXPECT_EQ(all_of(some.part(3, 4)), (std::vector<int32_t>{13, 14, 50, 51}));
  std::vector<int32_t> middle(3);
  some.copy(4, middle);
  EXPECT_EQ(middle, (std::vector<int32_t>{14, 50, 51}));
  EXPECT_EQ(some.memory_bytes(), 20);
  EXPECT_NE(some.fingerprint(), numbers.fingerprint());
  EXPECT_EQ(some.fingerprint(), TokenSequence(some).fingerprint());
  EXPECT_EQ(TokenSequence().size(), 0);
}

TEST(Permutation, IsOne) {
  for (const uint64_t size : {1, 2, 3, 10, 255, 256, 257, 5000}) {
    std::set<uint64_t> seen;
    const Permutation order(size, 42, 7);
    for (uint64_t i = 0; i < size; ++i) {
      const uint64_t place = order(i);
      EXPECT_LT(place, size);
      seen.insert(place);
    }
    EXPECT_EQ(seen.size(), size);
  }
}

// All 24 orders of four cards equally often: chi-square with 23 degrees of freedom is below 50
// with a probability of 99.9 %, and the seeds are fixed.
TEST(Permutation, EveryOrderIsEquallyLikely) {
  constexpr int kRounds = 24'00;
  std::map<std::vector<uint64_t>, int> counts;
  for (uint64_t seed = 0; seed < kRounds; ++seed) {
    const Permutation order(4, seed, 1);
    ++counts[{order(0), order(1), order(2), order(3)}];
  }
  EXPECT_EQ(counts.size(), 24u);
  double chi_square = 0;
  for (const auto& [order, count] : counts) chi_square += (count - 100.0) * (count - 100.0) / 100;
  EXPECT_LT(chi_square, 50);
}

// Where a window lands says nothing of where its neighbour does: the correlation of 20000
// neighbours has a standard deviation of 0.007.
TEST(Permutation, NeighboursAreIndependent) {
  constexpr uint64_t kSize = 20'000;
  const Permutation order(kSize, 5, 5);
  const double mean = (kSize - 1) / 2.0, variance = (kSize * kSize - 1.0) / 12;
  double products = 0;
  for (uint64_t i = 0; i + 1 < kSize; ++i) {
    products += (static_cast<double>(order(i)) - mean) * (static_cast<double>(order(i + 1)) - mean);
  }
  EXPECT_LT(std::abs(products / kSize / variance), 0.03);
}

// How often each token is a target in one epoch.
std::vector<int> targets_in_epoch(const WindowSampler& sampler, int64_t size, int64_t epoch) {
  std::vector<int> counts(static_cast<size_t>(size));
  const int64_t first = epoch * sampler.windows_per_epoch();
  for (int64_t i = 0; i < sampler.windows_per_epoch(); ++i) {
    const Window window = sampler.at(first + i);
    EXPECT_GE(window.targets, 1);
    for (int64_t t = 1; t <= window.targets; ++t) {
      ++counts.at(static_cast<size_t>(window.begin + t));
    }
  }
  return counts;
}

TEST(WindowSampler, AnEpochPredictsEveryTokenOnce) {
  for (const int64_t size : {2, 3, 9, 10, 11, 17, 40, 41, 257}) {
    const TokenSequence tokens = count_up(size);
    std::vector<int> once(static_cast<size_t>(size), 1);
    once[0] = 0;  // nothing comes before it
    for (const int64_t context : {1, 2, 7, 8}) {
      if (context >= size) continue;
      for (const Sampling sampling : {Sampling::shuffled, Sampling::sequential}) {
        const WindowSampler sampler(tokens, "training", context, sampling, 3);
        for (const int64_t epoch : {0, 1, 2, 1000}) {
          EXPECT_EQ(targets_in_epoch(sampler, size, epoch), once)
              << size << " tokens, context " << context << ", epoch " << epoch;
        }
      }
    }
  }
}

TEST(WindowSampler, SequentialWindowsFollowEachOther) {
  const TokenSequence tokens = count_up(50);
  const WindowSampler sampler(tokens, "training", 8, Sampling::sequential, 1);
  int64_t next = 0;
  for (int64_t i = 0; i < sampler.windows_per_epoch(); ++i) {
    EXPECT_EQ(sampler.at(i).begin, next);
    next += sampler.at(i).targets;
  }
  EXPECT_EQ(next, 49);
  EXPECT_EQ(sampler.at(sampler.windows_per_epoch()).begin, 0);
  EXPECT_EQ(sampler.epoch_of(sampler.windows_per_epoch()), 1);
}

TEST(WindowSampler, EpochsDifferInOrderAndInTheirCuts) {
  const TokenSequence tokens = count_up(394);
  const WindowSampler sampler(tokens, "training", 8, Sampling::shuffled, 1);
  std::set<std::vector<int64_t>> orders;
  std::set<int64_t> cuts;
  for (int64_t epoch = 0; epoch < 20; ++epoch) {
    std::vector<int64_t> order;
    for (int64_t i = 0; i < sampler.windows_per_epoch(); ++i) {
      order.push_back(sampler.at(epoch * sampler.windows_per_epoch() + i).begin);
    }
    EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
    orders.insert(order);
    for (const int64_t begin : order) cuts.insert(begin % 8);
  }
  EXPECT_EQ(orders.size(), 20u);
  EXPECT_GE(cuts.size(), 5u);  // 393 targets leave first windows of 1 to 8
}

TEST(WindowSampler, RandomWindowsReachEveryPlace) {
  const TokenSequence tokens = count_up(50);
  const WindowSampler sampler(tokens, "training", 8, Sampling::random, 1);
  std::set<int64_t> begins;
  for (int64_t i = 0; i < 800; ++i) {
    EXPECT_EQ(sampler.at(i).targets, 8);
    begins.insert(sampler.at(i).begin);
  }
  // Every window that fits, and no other.
  EXPECT_EQ(begins.size(), 42u);
  EXPECT_EQ(*begins.rbegin(), 41);
}

TEST(WindowSampler, BatchesArePureFunctionsOfTheirPlace) {
  const TokenSequence tokens = count_up(500);
  for (const Sampling sampling : {Sampling::shuffled, Sampling::sequential, Sampling::random}) {
    const WindowSampler sampler(tokens, "training", 8, sampling, 5), same = sampler;
    EXPECT_EQ(sampler.batch(24, 8, kCpu).inputs.to_ints(),
              same.batch(24, 8, kCpu).inputs.to_ints());
    EXPECT_NE(sampler.batch(24, 8, kCpu).inputs.to_ints(),
              sampler.batch(32, 8, kCpu).inputs.to_ints());
    // One batch of eight is four batches of two.
    std::vector<int32_t> joined;
    for (int64_t first = 24; first < 32; first += 2) {
      const std::vector<int32_t> ids = sampler.batch(first, 2, kCpu).inputs.to_ints();
      joined.insert(joined.end(), ids.begin(), ids.end());
    }
    EXPECT_EQ(joined, sampler.batch(24, 8, kCpu).inputs.to_ints());
  }
}

TEST(WindowSampler, ATextOfOneWindowIsEnoughAndAShorterOneIsNot) {
  const TokenSequence tokens = count_up(9);
  for (const Sampling sampling : {Sampling::shuffled, Sampling::random}) {
    const WindowSampler sampler(tokens, "training", 8, sampling, 1);
    const Batch batch = sampler.batch(0, 2, kCpu);
    EXPECT_EQ(batch.counted, 16);
    EXPECT_EQ(batch.inputs.to_ints()[0], 0);
    EXPECT_EQ(batch.targets.to_ints()[7], 8);
  }
  expect_error(
      [&] { WindowSampler(tokens, "training", 9, Sampling::shuffled, 1); },
      {"the training text has 9 tokens", "--context + 1 = 10", "longest legal context is 8"});
  const TokenSequence one = count_up(1);
  expect_error([&] { WindowSampler(one, "training", 9, Sampling::random, 1); }, {"at least 2"});
}

TEST(Batches, TargetsAreTheInputsOneLater) {
  const TokenSequence tokens = count_up(50);
  const Batch batch = make_batch(tokens, std::vector<Window>{{3, 4}, {20, 2}}, 4, kCpu);
  EXPECT_EQ(batch.inputs.shape(), (Shape{2, 4}));
  EXPECT_EQ(batch.inputs.to_ints(), (std::vector<int32_t>{3, 4, 5, 6, 20, 21, 0, 0}));
  EXPECT_EQ(batch.targets.to_ints(),
            (std::vector<int32_t>{4, 5, 6, 7, 21, 22, kIgnored, kIgnored}));
  EXPECT_EQ(batch.counted, 6);
}

TEST(Batches, EvenStartsCoverTheText) {
  EXPECT_EQ(even_starts(count_up(101), 4, 10), (std::vector<int64_t>{0, 30, 60, 90}));
  // No more windows than fit without overlap.
  EXPECT_EQ(even_starts(count_up(31), 100, 10), (std::vector<int64_t>{0, 10, 20}));
  EXPECT_EQ(even_starts(count_up(11), 100, 10), std::vector<int64_t>{0});
}

// A token file of documents of some length, end-of-text (256) behind each.
TokenData token_file_of(const TemporaryFolder& folder, int documents, int length) {
  const std::string path = folder / "x.tok";
  TokenFileWriter writer(path, *make_byte_tokenizer());
  for (int i = 0; i < documents; ++i) {
    for (int j = 0; j < length; ++j) writer.append({{i % 256}});
    writer.append({{256}});
  }
  writer.finish();
  TokenData data;
  data.tokens = TokenSequence(std::make_shared<MappedTokens>(path));
  data.from_token_files = true;
  return data;
}

TEST(Split, OfTokenFilesIsByDocument) {
  TemporaryFolder folder;
  const TokenData data = token_file_of(folder, 300, 30);
  const Split split = split_tokens(data, 0.1, 256);
  EXPECT_GT(split.documents, 1);
  EXPECT_EQ(split.train.size() + split.validation.size(), data.tokens.size());
  EXPECT_NEAR(static_cast<double>(split.validation.size()), 930, 310);
  // Whole documents in both, and every one of them once.
  std::vector<int> seen(300);
  for (const TokenSequence* part : {&split.train, &split.validation}) {
    const std::vector<int32_t> ids = all_of(*part);
    ASSERT_EQ(ids.size() % 31, 0u);
    for (size_t i = 0; i < ids.size(); i += 31) {
      EXPECT_EQ(ids[i], ids[i + 29]);
      EXPECT_EQ(ids[i + 30], 256);
    }
  }
  // Spread over the file: the first and the last validation document are far apart.
  const std::vector<int32_t> ids = all_of(split.validation);
  EXPECT_LT(ids.front(), 40);
  EXPECT_EQ(ids[ids.size() - 2], 299 % 256);
  EXPECT_EQ(split.train.memory_bytes(), 0);
}

TEST(Split, OfTokenFilesWithoutDocumentsIsAtTheEnd) {
  TemporaryFolder folder;
  const TokenData data = token_file_of(folder, 1, 999);
  const Split split = split_tokens(data, 0.1, 256);
  EXPECT_EQ(split.documents, 1);
  EXPECT_EQ(split.train.size(), 900);
  EXPECT_EQ(split.validation.size(), 100);
  EXPECT_EQ(split_tokens(data, 0, 256).validation.size(), 0);
  // Few documents: each longer than the validation part.
  const Split few = split_tokens(token_file_of(folder, 3, 99), 0.1, 256);
  EXPECT_EQ(few.train.size(), 270);
  EXPECT_EQ(few.documents, 2);  // more than one
}

TEST(TokenData, TextBesideTokenFilesIsAnError) {
  TemporaryFolder folder;
  token_file_of(folder, 3, 9);
  const std::string text = folder.write("a.txt", "some text");
  expect_error(
      [&] {
        DataFiles({folder / "x.tok", text}, "text");
      },
      {"x.tok holds tokens", "a.txt does not"});
  expect_error([&] { DataFiles({folder.path().string()}, "text"); },
               {"either token files or text"});
}

TEST(TokenData, TooManyTokensForTheMemoryAreAnErrorWithAWayOut) {
  require_room_for_tokens(100, 100);
  expect_error([] { require_room_for_tokens(101, 100); }, {"memory", "tapir tokenizer encode"});
}

}  // namespace
}  // namespace tapir::app
