// Token files: what is written is read back, and what is broken is refused.
#include <cstring>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "apps/tokenizer/bpe_model.h"
#include "apps/tokenizer/file_io.h"
#include "apps/tokenizer/token_file.h"
#include "apps/tokenizer/token_format.h"
#include "apps/tokenizer/tokenizer.h"
#include "tests/support/expect_error.h"
#include "tests/support/temporary_folder.h"

namespace tapir::app {
namespace {

using testing::expect_error;
using testing::read_text;
using testing::TemporaryFolder;
using token_format::Header;
using Ids = std::vector<int32_t>;

// A tokenizer of any size: tokens beyond the bytes stand for nothing that text could reach.
std::unique_ptr<Tokenizer> tokenizer_of_size(size_t size) {
  BpeModel model;
  for (size_t id = 0; id < size; ++id) {
    model.tokens.push_back(id < 256 ? std::string(1, static_cast<char>(id)) : std::to_string(id));
  }
  return make_bpe_tokenizer(std::move(model));
}

Ids some_ids(size_t count, int32_t limit) {
  Ids ids(count);
  for (size_t i = 0; i < count; ++i) {
    ids[i] = static_cast<int32_t>(i * 2654435761u % static_cast<uint32_t>(limit));
  }
  return ids;
}

void write_tokens(const std::filesystem::path& path, const Tokenizer& tokenizer, const Ids& ids) {
  TokenFileWriter writer(path, tokenizer);
  const size_t half = ids.size() / 2;
  writer.append(std::span(ids).first(half));
  writer.append(std::span(ids).subspan(half));
  EXPECT_EQ(writer.size(), static_cast<int64_t>(ids.size()));
  writer.finish();
}

Ids read_tokens(const TokenFile& file) {
  Ids ids(static_cast<size_t>(file.size()));
  file.read(0, ids);
  return ids;
}

TEST(TokenFile, GivesBackWhatWasWritten) {
  const TemporaryFolder folder;
  // Around the ends of the blocks of 64 KiB, in both widths.
  for (const size_t vocab : {size_t{257}, size_t{65536}, size_t{65537}, size_t{100000}}) {
    const auto tokenizer = tokenizer_of_size(vocab);
    for (const size_t count : {0, 1, 3, 16383, 16384, 32768, 32769, 100001}) {
      const Ids ids = some_ids(count, tokenizer->vocab_size());
      write_tokens(folder / "x.tok", *tokenizer, ids);
      const TokenFile file(folder / "x.tok");
      EXPECT_EQ(file.bytes_per_id(), vocab <= 65536 ? 2 : 4);
      EXPECT_EQ(file.vocab_size(), tokenizer->vocab_size());
      EXPECT_TRUE(read_tokens(file) == ids) << vocab << " " << count;
      file.require_tokenizer(*tokenizer);
      if (count < 20000) continue;
      Ids window(5000);
      file.read(14000, window);
      EXPECT_TRUE(std::equal(window.begin(), window.end(), ids.begin() + 14000));
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "x.tok.tmp"));
}

TEST(TokenFile, IsWrittenByOneAtATime) {
  const TemporaryFolder folder;
  const auto tokenizer = make_byte_tokenizer();
  const std::filesystem::path path = folder / "x.tok";
  {
    TokenFileWriter first(path, *tokenizer);
    first.append(Ids{1, 2, 3});
    expect_error([&] { TokenFileWriter second(path, *tokenizer); },
                 {"another program is writing", "x.tok", "--out"});
    first.finish();
    EXPECT_EQ(read_tokens(TokenFile(path)), (Ids{1, 2, 3}));
    // The name is free again, though the first writer still exists.
    write_tokens(path, *tokenizer, {4, 5});
  }
  EXPECT_EQ(read_tokens(TokenFile(path)), (Ids{4, 5}));
  EXPECT_FALSE(std::filesystem::exists(folder / "x.tok.tmp"));
}

TEST(TokenFile, TakesOverWhatAKilledProgramLeft) {
  const TemporaryFolder folder;
  folder.write("x.tok.tmp", std::string(500'000, 'x'));
  write_tokens(folder / "x.tok", *make_byte_tokenizer(), {1, 2, 3});
  EXPECT_EQ(read_tokens(TokenFile(folder / "x.tok")), (Ids{1, 2, 3}));
  EXPECT_FALSE(std::filesystem::exists(folder / "x.tok.tmp"));
}

// A folder in the way: what was written does not stay behind.
TEST(TokenFile, LeavesNothingWhereItCannotHaveItsName) {
  const TemporaryFolder folder;
  folder.write("x.tok/inside", "");
  expect_error([&] { write_tokens(folder / "x.tok", *make_byte_tokenizer(), {1}); },
               {"x.tok cannot be completed", "directory"});
  EXPECT_FALSE(std::filesystem::exists(folder / "x.tok.tmp"));
}

TEST(WriteFile, LeavesNothingWhereItCannotHaveItsName) {
  const TemporaryFolder folder;
  folder.write("out/inside", "");
  expect_error([&] { write_file(folder / "out", "text"); },
               {"out cannot be replaced", "directory"});
  EXPECT_FALSE(std::filesystem::exists(folder / "out.tmp"));
}

TEST(TokenFile, EveryFlippedBitIsFound) {
  const TemporaryFolder folder;
  const auto tokenizer = make_byte_tokenizer();
  write_tokens(folder / "x.tok", *tokenizer, some_ids(21, 257));
  const std::string whole = read_text(folder / "x.tok");
  for (size_t byte = 0; byte < whole.size(); ++byte) {
    for (const int bit : {0, 7}) {
      std::string broken = whole;
      broken[byte] = static_cast<char>(broken[byte] ^ (1 << bit));
      folder.write("broken.tok", broken);
      expect_error([&] { TokenFile file(folder / "broken.tok"); }, {"broken.tok"});
    }
  }
}

TEST(TokenFile, TruncatedAndExtendedFilesAreErrors) {
  const TemporaryFolder folder;
  write_tokens(folder / "x.tok", *make_byte_tokenizer(), some_ids(40'000, 257));
  const std::string whole = read_text(folder / "x.tok");
  for (size_t size = 0; size < whole.size(); size += 1 + size / 3) {
    folder.write("short.tok", whole.substr(0, size));
    expect_error([&] { TokenFile file(folder / "short.tok"); }, {"short.tok"});
  }
  folder.write("long.tok", whole + "x");
  expect_error([&] { TokenFile file(folder / "long.tok"); }, {"long.tok", "added"});
}

TEST(TokenFile, ForeignFilesAreErrors) {
  const TemporaryFolder folder;
  folder.write("text", std::string(1000, 'x'));
  expect_error([&] { TokenFile file(folder / "text"); }, {"not a token file"});
  expect_error([&] { TokenFile file(folder / "none"); }, {"none", "No such file"});
  expect_error([&] { TokenFile file(folder.path()); }, {"not a regular file"});
}

// Writes a header with its checksum made right again after a change.
template <typename Change>
std::string rewrite_header(std::string contents, Change change) {
  Header header;
  std::memcpy(&header, contents.data(), sizeof(header));
  change(header);
  header.header_checksum = token_format::checksum(&header, offsetof(Header, header_checksum));
  std::memcpy(contents.data(), &header, sizeof(header));
  return contents;
}

TEST(TokenFile, HeadersThatLieAreErrors) {
  const TemporaryFolder folder;
  write_tokens(folder / "x.tok", *make_byte_tokenizer(), some_ids(1000, 257));
  const std::string whole = read_text(folder / "x.tok");
  const auto fails = [&](auto change, const std::string& part) {
    folder.write("y.tok", rewrite_header(whole, change));
    expect_error([&] { TokenFile file(folder / "y.tok"); }, {part});
  };
  fails([](Header& h) { h.version = 2; }, "version 2");
  fails([](Header& h) { h.bytes_per_id = 4; }, "contradicts");
  fails([](Header& h) { h.bytes_per_id = 0; }, "contradicts");
  fails([](Header& h) { h.vocab_size = 0; }, "contradicts");
  fails([](Header& h) { h.block_bytes = 1; }, "contradicts");
  fails([](Header& h) { h.tokenizer_hash[3] = '\n'; }, "contradicts");
  fails([](Header& h) { h.count = ~uint64_t{0}; }, "truncated");
  fails([](Header& h) { h.count = uint64_t{1} << 63; }, "truncated");
  fails([](Header& h) { h.count = 999; }, "corrupted");
  fails([](Header& h) { h.count = 0; }, "instead of");
  fails([](Header& h) { h.vocab_size = 200; }, "its vocabulary has 200");
}

TEST(TokenFile, IdsAreCheckedWhenWritten) {
  const TemporaryFolder folder;
  const auto tokenizer = make_byte_tokenizer();
  TokenFileWriter writer(folder / "x.tok", *tokenizer);
  expect_error([&] { writer.append(Ids{257}); }, {"257", "0 .. 256"});
  expect_error([&] { writer.append(Ids{-1}); }, {"-1"});
  expect_error([&] { TokenFileWriter nowhere(folder / "none/x.tok", *tokenizer); }, {"none"});
}

TEST(TokenFile, AnUnfinishedFileLeavesNothing) {
  const TemporaryFolder folder;
  {
    TokenFileWriter writer(folder / "x.tok", *make_byte_tokenizer());
    writer.append(Ids{1, 2, 3});
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(TokenFile, ReadingOutsideIsAnError) {
  const TemporaryFolder folder;
  write_tokens(folder / "x.tok", *make_byte_tokenizer(), some_ids(10, 257));
  const TokenFile file(folder / "x.tok");
  Ids window(4);
  expect_error([&] { file.read(7, window); }, {"4 ids from 7", "has 10"});
  expect_error([&] { file.read(-1, window); }, {"-1"});
  expect_error([&] { file.read(INT64_MAX, window); }, {"has 10"});
  file.read(6, window);
  file.read(10, {});
}

TEST(TokenFile, AnotherTokenizerIsAnError) {
  const TemporaryFolder folder;
  const auto tokenizer = make_byte_tokenizer();
  write_tokens(folder / "x.tok", *tokenizer, some_ids(10, 257));
  const TokenFile file(folder / "x.tok");
  const auto other = tokenizer_of_size(257);
  expect_error([&] { file.require_tokenizer(*other); }, {tokenizer->hash(), other->hash()});
}

}  // namespace
}  // namespace tapir::app
