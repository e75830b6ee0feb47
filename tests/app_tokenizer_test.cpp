// `tapir tokenizer` as a user runs it.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/tiny_run.h"

namespace tapir::testing {
namespace {

// A folder with a text and a tokenizer trained on it.
class TokenizerCommand : public ::testing::Test {
 protected:
  TokenizerCommand() : text(folder.write("text.txt", small_text())), tokens(folder / "tokens") {
    const ProcessResult result = run(
        {"train", "--data", text, "--vocab-size", "280", "--special", "<|pad|>", "--out", tokens});
    EXPECT_EQ(result.status, 0) << result.err;
    expect_contains(result.out, {"bpe: 280 tokens", tokens});
  }

  static ProcessResult run(std::vector<std::string> words, const ProcessOptions& options = {}) {
    words.insert(words.begin(), "tokenizer");
    return run_tapir(words, options);
  }

  TemporaryFolder folder;
  std::string text, tokens;
};

TEST_F(TokenizerCommand, TrainWritesTheThreeFiles) {
  for (const char* const name : {"/tokenizer.json", "/vocab.json", "/merges.txt"}) {
    EXPECT_TRUE(std::filesystem::exists(tokens + name)) << name;
  }
}

TEST_F(TokenizerCommand, TextComesBackFromIds) {
  const std::string sentence = "The cat <|pad|> na\xC3\xAFve \xFF";
  const ProcessResult ids = run({"encode", tokens, "--special-as-text"}, {.input = sentence});
  EXPECT_EQ(run({"decode", tokens}, {.input = ids.out}).out, sentence);
  const ProcessResult special = run({"encode", tokens, "--text", "a<|pad|>", "--parse-special"});
  EXPECT_EQ(special.out, "97 279\n");
  EXPECT_EQ(run({"encode", tokens, "--text", ""}, {.input = "not this"}).out, "\n");
  EXPECT_EQ(run({"decode", tokens, "97", "279"}).out, "a");
  EXPECT_EQ(run({"decode", tokens, "97", "279", "--keep-special"}).out, "a<|pad|>");
}

TEST_F(TokenizerCommand, TextComesBackFromATokenFile) {
  const std::string file = folder / "text.tok";
  EXPECT_EQ(run({"encode", tokens, "--data", text, "--out", file}).status, 0);
  EXPECT_EQ(run({"decode", tokens, "--file", file}).out, small_text());
  expect_contains(run({"info", file}).out, {"vocabulary 280", "2 per token"});
  expect_failure(run({"encode", tokens, "--data", text, "--out", folder / "./text.txt"}), 1,
                 {"--out", "is a file of --data"});
  EXPECT_EQ(read_text(text), small_text());
  expect_failure(run({"decode", "byte", "--file", file}), 1,
                 {"was made with tokenizer", "name that one"});
}

// As `tapir train` does with text, so that a token file holds what training would have read.
TEST_F(TokenizerCommand, DataThatSpellsSpecialTokensHoldsThem) {
  const std::string data = folder.write("two.txt", "a<|endoftext|>b<|pad|>");
  EXPECT_EQ(run({"encode", tokens, "--data", data}).out, "97 278 98 279\n");
  const std::string file = folder / "two.tok";
  EXPECT_EQ(run({"encode", tokens, "--data", data, "--out", file}).status, 0);
  EXPECT_EQ(run({"decode", tokens, "--file", file, "--keep-special"}).out,
            "a<|endoftext|>b<|pad|><|endoftext|>");
  const ProcessResult plain = run({"encode", "byte", "--data", data, "--special-as-text"});
  EXPECT_EQ(run({"decode", "byte"}, {.input = plain.out}).out, read_text(data));
  EXPECT_EQ(run({"encode", "byte", "--text", "<|"}).out, "60 124\n");
}

TEST_F(TokenizerCommand, DataIsCheckedAsInTraining) {
  const std::string out = folder / "other";
  const std::string file = folder / "text.tok";
  EXPECT_EQ(run({"encode", tokens, "--data", text, "--out", file}).status, 0);
  const auto refused = [&](const std::string& data, const std::string& why) {
    expect_failure(run({"train", "--data", data, "--out", out}), 1, {why});
    expect_failure(run({"train", "--kind", "char", "--data", data, "--out", out}), 1, {why});
    expect_failure(run({"encode", tokens, "--data", data}), 1, {why});
    expect_failure(run({"encode", tokens, "--data", data, "--out", out}), 1, {why});
    EXPECT_FALSE(std::filesystem::exists(out));
  };
  refused(folder.write("empty", ""), "empty is empty");
  refused(folder.write("binary", std::string("a\0b", 3)),
          "binary is not a text file: byte 1 is NUL");
  refused(file, "text.tok holds tokens already");
}

TEST_F(TokenizerCommand, InfoShowsWhatATokenizerIs) {
  expect_contains(run({"info", tokens}).out,
                  {"kind       bpe", "vocabulary 280", "278 \"<|endoftext|>\"", "279 \"<|pad|>\""});
  expect_contains(run({"info", "byte"}).out, {"kind       byte", "vocabulary 257"});
}

TEST_F(TokenizerCommand, CharTokenizersCanBeTrained) {
  const std::string accents = folder.write("accents.txt", "\xC3\xA9t\xC3\xA9 \xC3\xA0");
  const ProcessResult result =
      run({"train", "--kind", "char", "--data", accents, "--out", folder / "chars"});
  expect_contains(result.out, {"char: 259 tokens"});
}

TEST_F(TokenizerCommand, ATokenizerIsReplacedOnlyWhenAsked) {
  const std::vector<std::string> chars = {"train", "--kind", "char", "--data",
                                          text,    "--out",  tokens};
  const std::string before = read_text(tokens + "/tokenizer.json");
  expect_failure(run(chars), 1, {"tokens holds a tokenizer", "--out", "--overwrite"});
  EXPECT_EQ(read_text(tokens + "/tokenizer.json"), before);
  std::vector<std::string> replacing = chars;
  replacing.push_back("--overwrite");
  EXPECT_EQ(run(replacing).status, 0);
  expect_contains(run({"info", tokens}).out, {"kind       char"});
  // Nothing of the bpe tokenizer is left, which other programs would read.
  EXPECT_FALSE(std::filesystem::exists(tokens + "/vocab.json"));
  EXPECT_FALSE(std::filesystem::exists(tokens + "/merges.txt"));
}

TEST_F(TokenizerCommand, FlagsThatHaveNoEffectTogether) {
  expect_failure(run({"encode", tokens, "--text", "a", "--data", text}), 1,
                 {"--data does not go with --text"});
  expect_failure(run({"encode", tokens, "--parse-special", "--special-as-text"}), 1,
                 {"--special-as-text does not go with --parse-special"});
  expect_failure(run({"decode", tokens, "1", "--file", "x.tok"}), 1, {"ids do not go with --file"});
  const std::string out = folder / "other";
  const std::vector<std::vector<std::string>> of_bpe = {{"--vocab-size", "300"},
                                                        {"--special", "<|pad|>"},
                                                        {"--pattern", "gpt2"},
                                                        {"--min-count", "2"}};
  for (const std::vector<std::string>& flag : of_bpe) {
    expect_failure(run({"train", "--kind", "char", "--data", text, "--out", out, flag[0], flag[1]}),
                   1, {flag[0] + " does not go with --kind char"});
  }
}

TEST_F(TokenizerCommand, MistakesAreNamed) {
  const std::string out = folder / "other";
  expect_failure(run({"train", "--data", text, "--out", out, "--min-count", "-1"}), 1,
                 {"--min-count -1", "1 or more"});
  const ProcessResult long_id = run({"decode", tokens}, {.input = std::string(1'000'000, 'x')});
  expect_failure(long_id, 1, {"xxx...' is no token id"});
  expect_failure(run({"train", "--data", folder / "none", "--out", out}), 1, {"none"});
  expect_failure(run({"train", "--data", folder.write("empty", ""), "--out", out}), 1,
                 {"empty is empty"});
  expect_failure(run({"train", "--data", text, "--out", out, "--vocab-size", "10"}), 1,
                 {"vocabulary of 10"});
  expect_failure(run({"train", "--data", text, "--out", out, "--vocab-size", "ten"}), 1,
                 {"--vocab-size"});
  expect_failure(run({"train", "--data", text, "--out", out, "--kind", "word"}), 1,
                 {"--kind word", "bpe and char"});
  expect_failure(run({"train", "--data", text, "--out", out, "--pattern", "gpt9"}), 1,
                 {"gpt9", "llama3"});
  expect_failure(run({"train", "--data", text}), 2, {"--out"});
  expect_failure(run({"encode", folder / "none", "--text", "a"}), 1, {"none", "does not exist"});
  expect_failure(run({"decode", tokens, "280"}), 1, {"280", "0 .. 279"});
  expect_failure(run({"decode", tokens, "3x"}), 1, {"'3x' is no token id"});
  expect_failure(run({"info", text}), 1, {"not a token file"});
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(TokenizerCommand, ADiskWithoutRoomIsNamed) {
  ProcessOptions options;
  options.in_child = [] {
    const rlimit limit{100'000, 100'000};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  const std::string large = folder.write("large.txt", std::string(100'000, 'a'));
  expect_failure(run({"encode", "byte", "--data", large, "--out", folder / "large.tok"}, options),
                 1, {"large.tok", "cannot be written: File too large"});
  EXPECT_FALSE(std::filesystem::exists(folder / "large.tok"));
}

TEST_F(TokenizerCommand, FewPairsGiveASmallerVocabularyAndANote) {
  const std::string tiny = folder.write("tiny.txt", "aa aa");
  const ProcessResult result =
      run({"train", "--data", tiny, "--vocab-size", "1k", "--out", folder / "small"});
  EXPECT_EQ(result.status, 0);
  expect_contains(result.err, {"258 tokens only, not 1000"});
}

}  // namespace
}  // namespace tapir::testing
