// Where users have their text: the program's --data, from the command line.
#include <cstring>
#include <regex>

#include <gtest/gtest.h>

#include "apps/tokenizer/token_format.h"
#include "tests/support/tiny_run.h"

namespace tapir::testing {
namespace {

namespace fs = std::filesystem;

class CorpusData : public ::testing::Test {
 protected:
  // `tapir train` on this, as far as it goes.
  ProcessResult train(const std::string& data, const std::vector<std::string>& more = {},
                      const ProcessOptions& options = {}) {
    return run_tapir(tiny_train(data, folder_ / "run", more), options);
  }
  ProcessResult encode(const std::string& data, const std::string& out) {
    return run_tapir({"tokenizer", "encode", "byte", "--data", data, "--out", out});
  }
  std::string weights(const std::string& run) {
    return read_text(folder_ / (run + "/checkpoints/last/model.safetensors"));
  }

  TemporaryFolder folder_;
};

TEST_F(CorpusData, ComesFromStandardInput) {
  const ProcessOptions input{.input = small_text()};
  // A tokenizer that is learned from the text first reads it twice.
  for (const char* tokenizer : {"byte", "bpe:300"}) {
    const ProcessResult result = train("-", {"--tokenizer", tokenizer, "--overwrite"}, input);
    EXPECT_EQ(result.status, 0) << result.err;
  }
  // The same text from a file gives the same model.
  const std::string file = folder_.write("text.txt", small_text());
  const ProcessResult same =
      run_tapir(tiny_train(file, folder_ / "same", {"--tokenizer", "bpe:300"}));
  EXPECT_EQ(same.status, 0) << same.err;
  EXPECT_EQ(weights("run"), weights("same"));
  expect_failure(train("-", {"--overwrite"}), 1, {"standard input is empty"});
  expect_failure(train("-", {"--overwrite", "--val-data", "-"}, input), 1,
                 {"standard input (-) can be read only once", "--val-data"});
  const ProcessResult eval = run_tapir({"eval", folder_ / "run", "--data", "-"}, input);
  EXPECT_EQ(eval.status, 0) << eval.err;
  const ProcessResult tokens = run_tapir(
      {"tokenizer", "train", "--data", "-", "--vocab-size", "270", "--out", folder_ / "t"}, input);
  EXPECT_EQ(tokens.status, 0) << tokens.err;
}

TEST_F(CorpusData, ComesFromJsonLinesAndPatterns) {
  std::string lines;
  for (int i = 0; i < 40; ++i) {
    lines += "{\"id\": " + std::to_string(i) + ", \"body\": \"The cat " + std::to_string(i) +
             " sat on the mat.\"}\n";
  }
  folder_.write("texts/a.jsonl", lines);
  folder_.write("texts/more/b.jsonl", lines);
  const std::string pattern = folder_ / "texts/**/*.jsonl";
  const ProcessResult result = train(pattern, {"--jsonl-field", "body"});
  ASSERT_EQ(result.status, 0) << result.err;
  expect_contains(result.out, {"in 80 documents"});
  expect_failure(train(pattern, {"--overwrite"}), 1, {"line 1", "\"text\"", "--jsonl-field"});
  const ProcessResult eval =
      run_tapir({"eval", folder_ / "run", "--data", pattern, "--jsonl-field", "body"});
  EXPECT_EQ(eval.status, 0) << eval.err;
  const ProcessResult tokens = run_tapir({"tokenizer", "encode", "byte", "--data", pattern,
                                          "--jsonl-field", "body", "--out", folder_ / "x.tok"});
  EXPECT_EQ(tokens.status, 0) << tokens.err;
  expect_contains(tokens.out, {"80 documents"});
}

TEST_F(CorpusData, ComesFromTokenFiles) {
  const std::string text = folder_.write("text.txt", small_text()), file = folder_ / "x.tok";
  ASSERT_EQ(encode(text, file).status, 0);
  const ProcessResult result = train(file);
  ASSERT_EQ(result.status, 0) << result.err;
  expect_contains(result.out, {"x.tok: ", "to train on"});
  expect_contains(read_text(folder_ / "run/metrics.jsonl"), {"val_loss"});
  // Several files, a folder of them, and the run's own evaluation.
  ASSERT_EQ(encode(text, folder_.write("tokens/a.tok", "")).status, 0);
  ASSERT_EQ(encode(text, folder_ / "tokens/b.tok").status, 0);
  EXPECT_EQ(train(folder_ / "tokens", {"--overwrite", "--val-data", file}).status, 0);
  EXPECT_EQ(run_tapir({"eval", folder_ / "run", "--batches", "2"}).status, 0);
  EXPECT_EQ(run_tapir({"eval", folder_ / "run", "--data", file}).status, 0);
  const ProcessResult overlap =
      run_tapir({"generate", folder_ / "run", "--tokens", "9", "--overlap"});
  EXPECT_EQ(overlap.status, 0) << overlap.err;
  expect_contains(overlap.err, {"longest passage"});
}

TEST_F(CorpusData, TokenFilesFitTheirTokenizerOnly) {
  const std::string text = folder_.write("text.txt", small_text()), file = folder_ / "x.tok";
  ASSERT_EQ(encode(text, file).status, 0);
  expect_failure(train(file, {"--tokenizer", "bpe:300"}), 1,
                 {"bpe:300 is learned from text", "x.tok holds tokens"});
  ASSERT_EQ(run_tapir({"tokenizer", "train", "--data", text, "--vocab-size", "280", "--out",
                       folder_ / "bpe"})
                .status,
            0);
  expect_failure(train(file, {"--tokenizer", folder_ / "bpe"}), 1,
                 {"x.tok was made with tokenizer", "--tokenizer"});
  expect_failure(train(file, {"--val-data", text, "--tokenizer", folder_ / "bpe"}), 1, {"x.tok"});
  std::string damaged = read_text(file);
  damaged[300] ^= 1;
  expect_failure(train(folder_.write("bad.tok", damaged)), 1, {"bad.tok is corrupted"});
  expect_failure(train(folder_.write("cut.tok", damaged.substr(0, 500))), 1, {"cut.tok"});
}

// A token file of 5 billion ids, nearly all of them a hole in the file.
class HugeTokenFile {
 public:
  static constexpr uint64_t kBytes = uint64_t{10} << 30;

  HugeTokenFile(const std::string& path, const std::string& tokenizer_hash) {
    using namespace app::token_format;
    Header header{};
    std::memcpy(header.magic, kMagic, sizeof(header.magic));
    header.version = kVersion;
    header.bytes_per_id = 2;
    std::memcpy(header.tokenizer_hash, tokenizer_hash.data(), kHashDigits);
    header.count = kBytes / 2;
    header.vocab_size = 257;
    header.block_bytes = kBlockBytes;
    header.header_checksum = checksum(&header, offsetof(Header, header_checksum));
    const std::string block(kBlockBytes, '\0');
    const std::vector<uint64_t> table(kBytes / kBlockBytes, checksum(block.data(), block.size()));
    const uint64_t last = checksum(table.data(), table.size() * sizeof(uint64_t));
    std::ofstream file(path, std::ios::binary);
    file.write(reinterpret_cast<const char*>(&header), sizeof(header));
    file.seekp(static_cast<std::streamoff>(sizeof(header) + kBytes));
    file.write(reinterpret_cast<const char*>(table.data()),
               static_cast<std::streamsize>(table.size() * sizeof(uint64_t)));
    file.write(reinterpret_cast<const char*>(&last), sizeof(last));
    written_ = file.flush().good();
  }
  bool written() const { return written_; }

 private:
  bool written_ = false;
};

TEST_F(CorpusData, MayBeLargerThanMemory) {
  const std::string hash = std::regex_replace(run_tapir({"tokenizer", "info", "byte"}).out,
                                              std::regex("[^]*hash +([0-9a-f]{16})[^]*"), "$1");
  const std::string file = folder_ / "huge.tok";
  if (!HugeTokenFile(file, hash).written()) GTEST_SKIP() << "no file of 10 GiB may be made here";
  ASSERT_GT(fs::file_size(file), HugeTokenFile::kBytes);
  const ProcessResult result = train(file);
  ASSERT_EQ(result.status, 0) << result.err;
  expect_contains(result.out, {"to train on"});
  // Of all children so far, in KiB; a sanitizer alone takes a few hundred MiB.
  rusage usage{};
  ASSERT_EQ(getrusage(RUSAGE_CHILDREN, &usage), 0);
  EXPECT_LT(usage.ru_maxrss, 1'000'000);
  // The place in it is part of the run.
  EXPECT_EQ(run_tapir({"train", "--resume", folder_ / "run", "--steps", "14"}).status, 0);
}

}  // namespace
}  // namespace tapir::testing
