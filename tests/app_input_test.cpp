// Input that no good can come of: each is refused with a clear message and a failing exit status,
// or put up with and noted.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/tiny_run.h"

namespace tapir::testing {
namespace {

namespace fs = std::filesystem;

class Input : public ::testing::Test {
 protected:
  ProcessResult train(const std::string& data, const std::vector<std::string>& more = {},
                      const ProcessOptions& options = {}) const {
    return run_tapir(tiny_train(data, folder_ / "run", more), options);
  }
  void expect_refused(const std::string& data, const std::vector<std::string>& parts,
                      const std::vector<std::string>& more = {}) const {
    expect_failure(train(data, more), 1, parts);
    EXPECT_FALSE(fs::exists(folder_ / "run"));
  }

  TemporaryFolder folder_;
  std::string data_ = folder_.write("text.txt", small_text());
};

TEST_F(Input, FilesThatAreNoText) {
  expect_refused(folder_ / "none.txt", {"there is no file or folder", "none.txt"});
  expect_refused(folder_.write("empty.txt", ""), {"empty.txt is empty"});
  expect_refused(folder_.write("program", std::string("\x7F"
                                                      "ELF\0\0",
                                                      6)),
                 {"program", "not a text file", "byte 4"});
  expect_refused("/dev/zero", {"/dev/zero is neither a file nor a folder"});
}

TEST_F(Input, OneHugeLineIsOneDocument) {
  std::string line;
  while (line.size() < 3'000'000) line += "word and word and word ";
  const std::string huge = folder_.write("huge.txt", line);
  for (const char* tokenizer : {"byte", "bpe:300"}) {
    const ProcessResult result =
        train(huge, {"--overwrite", "--steps", "2", "--eval-every", "0", "--tokenizer", tokenizer});
    EXPECT_EQ(result.status, 0) << result.err;
    expect_contains(result.out, {"1 document", "step 2/2"});
  }
}

// An administrator may read everything, so the program runs as nobody.
ProcessOptions as_nobody() {
  ProcessOptions options;
  options.in_child = [] {
    constexpr uid_t kNobody = 65534;
    if (getuid() == 0 && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) _exit(126);
  };
  return options;
}

bool can_run_as_nobody() {
  return run_tapir({"--version"}, as_nobody()).status == 0;
}

TEST_F(Input, FilesAndFoldersThatMayNotBeRead) {
  if (!can_run_as_nobody()) GTEST_SKIP() << "nobody may not run the program here";
  chmod(folder_.path().c_str(), 0777);
  const std::string file = folder_.write("secret.txt", small_text());
  folder_.write("closed/a.txt", small_text());
  chmod(file.c_str(), 0);
  chmod((folder_ / "closed").c_str(), 0);
  expect_failure(train(file, {}, as_nobody()), 1, {"secret.txt", "Permission denied"});
  expect_failure(train(folder_ / "closed", {}, as_nobody()), 1, {"closed", "Permission denied"});
  expect_failure(train(folder_ / "closed/a.txt", {}, as_nobody()), 1,
                 {"closed/a.txt", "Permission denied"});
  fs::create_directories(folder_ / "closed/checkpoints/last");
  for (const char* command : {"generate", "info", "plot", "report"}) {
    const ProcessResult result = run_tapir({command, folder_ / "closed"}, as_nobody());
    expect_failure(result, 1, {"closed"});
    EXPECT_EQ(result.err.find("filesystem error"), std::string::npos) << result.err;
  }
  chmod((folder_ / "closed").c_str(), 0755);
}

TEST_F(Input, AFolderThatMayNotBeWritten) {
  if (!can_run_as_nobody()) GTEST_SKIP() << "nobody may not run the program here";
  chmod(folder_.path().c_str(), 0555);
  expect_failure(train(data_, {}, as_nobody()), 1, {"cannot create", "run", "Permission denied"});
  chmod(folder_.path().c_str(), 0755);
  EXPECT_FALSE(fs::exists(folder_ / "run"));
}

TEST_F(Input, LinksInCircles) {
  folder_.write("texts/a.txt", small_text());
  fs::create_symlink(".", folder_ / "texts/again");
  fs::create_symlink("..", folder_ / "texts/up");
  fs::create_symlink("ring", folder_ / "texts/ring");
  fs::create_symlink("nowhere", folder_ / "texts/broken");
  const ProcessResult result = train(folder_ / "texts", {"--steps", "2", "--eval-every", "0"});
  EXPECT_EQ(result.status, 0) << result.err;
  expect_contains(result.err, {"texts/again leads to a folder already read", "texts/ring",
                               "texts/broken", "left out"});
  fs::remove_all(folder_ / "run");
  expect_refused(folder_ / "texts/ring", {"texts/ring", "Too many levels of symbolic links"});
  expect_refused(folder_ / "texts/broken", {"there is no file or folder", "texts/broken"});
}

TEST_F(Input, ACorpusShorterThanAWindow) {
  const std::string few = folder_.write("few.txt", "Too few words.");
  expect_refused(few, {"has 13 tokens", "--context + 1 = 17", "longest legal context is 12"});
  // The context that the message names is legal.
  EXPECT_EQ(train(few, {"--context", "12", "--eval-every", "0"}).status, 0);
}

TEST_F(Input, FlagsThatContradictEachOther) {
  const auto refused = [&](const std::vector<std::string>& more,
                           const std::vector<std::string>& parts) {
    expect_refused(data_, parts, more);
  };
  refused({"--size", "1M"}, {"--size 1M chooses --layers", "--layers 1 was given"});
  refused({"--patience", "3", "--eval-every", "0"}, {"--patience 3", "--eval-every 0"});
  refused({"--warmup", "50"}, {"--warmup 50", "--steps 12"});
  refused({"--min-lr", "1"}, {"--min-lr 1 is above --lr 0.001"});
  refused({"--kv-heads", "3"}, {"--kv-heads 3", "--heads 2"});
  expect_failure(run_tapir({"train", "--val-data", data_, "--out", folder_ / "run"}), 1,
                 {"--val-data needs --data"});
}

TEST_F(Input, MistypedFlagsAndKeys) {
  expect_failure(train(data_, {"--stpes", "3"}), 2, {"'--stpes'", "did you mean --steps?"});
  expect_failure(train(data_, {"--n-layer", "3"}), 2, {"'--n-layer'", "--help"});
  expect_failure(train(data_, {"--steps", "many"}), 1, {"--steps", "a whole number", "'many'"});
  expect_failure(train(data_, {"--schedule", "cosin"}), 1, {"--schedule", "'cosin'", "cosine"});
  const auto config = [&](const std::string& text) {
    return std::vector<std::string>{"--config", folder_.write("config.toml", text)};
  };
  expect_refused(data_, {"config.toml, line 3", "did you mean steps?"},
                 config("[training]\nbatch = 2\nstpes = 9\n"));
  expect_refused(data_, {"config.toml, line 2", "did you mean training?"},
                 config("[trainig]\nsteps = 9\n"));
  expect_refused(data_, {"config.toml, line 2"}, config("[training]\nsteps = nine\n"));
  expect_refused(data_, {"config.toml, line 2"}, config("[training]\nsteps 9\n"));
}

TEST_F(Input, AFullDisk) {
  // Everything that a run writes; a limit on the size of files fails in the same calls.
  ProcessOptions options;
  options.in_child = [] {
    const rlimit limit{100, 100};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  expect_failure(train(data_, {}, options), 1, {"cannot write", "run", "File too large"});
  options.in_child = [] { dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO); };
  expect_failure(run_tapir({"corpus", "--bytes", "2k"}, options), 1,
                 {"standard output", "No space left"});
}

TEST_F(Input, NobodyReadsTheOutput) {
  ASSERT_EQ(train(data_).status, 0);
  const std::vector<std::vector<std::string>> commands = {
      {"generate", folder_ / "run", "--tokens", "100000", "--samples", "2"},
      {"generate", folder_ / "run", "--tokens", "100000", "--logprobs"},
      {"eval", folder_ / "run", "--data", data_, "--per-token"},
      {"corpus", "--bytes", "10M"},
      {"plot", folder_ / "run"},
      {"train", "--help"}};
  for (const std::vector<std::string>& command : commands) {
    Process process(TAPIR_PROGRAM, command);
    process.close_output();
    const ProcessResult result = process.wait();
    EXPECT_EQ(result.status, 0) << command[0] << result.err;
    EXPECT_EQ(result.err.find("tapir:"), std::string::npos) << result.err;
  }
}

TEST_F(Input, FoldersThatAreNoRun) {
  folder_.write("foreign/model.safetensors", "weights of another program");
  expect_failure(run_tapir({"generate", folder_ / "foreign"}), 1, {"foreign"});
  expect_failure(run_tapir({"generate", data_}), 1, {"text.txt"});
  expect_failure(run_tapir({"eval", folder_ / "foreign"}), 1, {"foreign"});
  expect_failure(run_tapir({"train", "--resume", folder_ / "foreign"}), 1,
                 {"there is no run in", "foreign"});
}

TEST_F(Input, GenerationFlagsThatHaveNoEffectTogether) {
  ASSERT_EQ(train(data_).status, 0);
  const auto refused = [&](const std::vector<std::string>& more,
                           const std::vector<std::string>& parts) {
    std::vector<std::string> arguments = {"generate", folder_ / "run"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    expect_failure(run_tapir(arguments), 1, parts);
  };
  refused({"--interactive", "--prompt", "a"}, {"--prompt does not go with --interactive"});
  refused({"--interactive", "--samples", "2"}, {"--samples does not go with --interactive"});
  refused({"--interactive", "--logprobs"}, {"--logprobs does not go with --interactive"});
  refused({"--logprobs", "--overlap"}, {"--overlap does not go with --logprobs"});
}

}  // namespace
}  // namespace tapir::testing
