// The command line itself: help, mistakes, and the small commands.
#include <regex>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/tiny_run.h"

namespace tapir::testing {
namespace {

const std::vector<std::string> kCommands = {"train",  "generate", "eval",      "plot",
                                            "report", "corpus",   "gradcheck", "inspect",
                                            "info",   "selftest", "tokenizer"};

TEST(Help, EveryCommandExplainsItselfWithExamples) {
  const ProcessResult top = run_tapir({"--help"});
  EXPECT_EQ(top.status, 0);
  expect_contains(top.out, {"tapir train --data", "Examples:"});
  for (const std::string& command : kCommands) {
    expect_contains(top.out, {command});
    const ProcessResult help = run_tapir({command, "--help"});
    EXPECT_EQ(help.status, 0) << command;
    EXPECT_EQ(help.err, "") << command;
    expect_contains(help.out, {"Examples:\n  tapir " + command});
  }
  EXPECT_EQ(run_tapir({"--version"}).out.rfind("tapir ", 0), 0u);
}

// The words of a shell command, with quotes as in the examples.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> words;
  const std::regex word("\"([^\"]*)\"|(\\S+)");
  for (std::sregex_iterator it(command.begin(), command.end(), word), end; it != end; ++it) {
    words.push_back((*it)[1].matched ? (*it)[1].str() : (*it)[2].str());
  }
  return words;
}

// Files and runs by the names that the examples use; training examples run with few tiny steps.
TEST(Help, EveryExampleRuns) {
  TemporaryFolder folder;
  for (const char* file : {"book.txt", "more.txt", "other.txt", "texts/a.txt"}) {
    folder.write(file, small_text());
  }
  const ProcessOptions here{.input = "It was", .in_child = [&] {
                              if (chdir(folder.path().c_str()) != 0) _exit(1);
                            }};
  for (const char* run : {"runs/book", "runs/small", "runs/large"}) {
    ASSERT_EQ(run_tapir(tiny_train("book.txt", run), here).status, 0);
  }
  int examples = 0;
  for (const std::string& command : kCommands) {
    std::istringstream help(run_tapir({command, "--help"}).out);
    for (std::string line; std::getline(help, line);) {
      const size_t start = line.find("tapir " + command + " ");
      const bool example = line.rfind("  tapir ", 0) == 0 || line.rfind("  echo ", 0) == 0;
      if (!example || start == std::string::npos) continue;
      std::vector<std::string> words = words_of(line.substr(start + 6));
      if (command == "train") {
        words.insert(words.end(), {"--dry-run"});
        if (line.find("--resume") == std::string::npos) {
          words.insert(words.end(), {"--overwrite", "--context", "32"});
        }
        if (line.find("--resume") == std::string::npos &&
            line.find("--size") == std::string::npos) {
          words.insert(words.end(), {"--layers", "1", "--heads", "2", "--d-model", "16"});
        }
      }
      if (command == "gradcheck") words.insert(words.end(), {"--max-elements", "2"});
      if (command == "corpus") words.insert(words.end(), {"--bytes", "1k"});
      const ProcessResult result = run_tapir(words, here);
      EXPECT_EQ(result.status, 0) << line << "\n" << result.err;
      ++examples;
    }
  }
  EXPECT_GE(examples, 15);
}

TEST(Usage, MistypedWordsGetASuggestionAndStatus2) {
  expect_failure(run_tapir({"trian"}), 2, {"no subcommand 'trian'", "did you mean train?"});
  expect_failure(run_tapir({"train", "--layer", "3"}), 2,
                 {"tapir train: there is no flag '--layer'", "did you mean --layers?", "--help"});
  expect_failure(run_tapir({"train", "--batchsize=3"}), 2, {"'--batchsize'"});
  expect_failure(run_tapir({"generate", "run", "--temprature", "1"}), 2,
                 {"did you mean --temperature?"});
  expect_failure(run_tapir({"generate", "run", "extra"}), 2, {"unexpected argument 'extra'"});
  expect_failure(run_tapir({"generate"}), 2, {"tapir generate:", "run"});
  expect_failure(run_tapir({"train", "--steps"}), 2, {"tapir train:", "--steps"});
  const ProcessResult nothing = run_tapir({});
  EXPECT_EQ(nothing.status, 2);
  expect_contains(nothing.err, {"train", "generate"});
}

TEST(Usage, BadTrainingRequestsAreNamed) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  const auto fails = [&](const std::vector<std::string>& more,
                         const std::vector<std::string>& parts) {
    expect_failure(run_tapir(tiny_train(data, folder / "run", more)), 1, parts);
    EXPECT_FALSE(std::filesystem::exists(folder / "run"));
  };
  fails({"--layers", "0"}, {"--layers: 0 is too small"});
  fails({"--layers", "5000"}, {"--layers: 5000 is too large; the most is 4096"});
  fails({"--context", "5000000"}, {"--context: 5000000 is too large; the most is 4194304"});
  fails({"--heads", "3"}, {"--d-model 16", "--heads 3"});
  fails({"--ffn", "gleu"}, {"--ffn", "gelu"});
  fails({"--preset", "cpu-tny"}, {"did you mean cpu-tiny?"});
  fails({"--size", "huge"}, {"--size", "'huge'"});
  fails({"--device", "gpu"}, {"--device", "auto, cpu, cuda"});
  fails({"--context", "100000"}, {"--context + 1 = 100001", "longest legal context"});
  fails({"--context", "500"}, {"the validation text has", "--eval-every 0"});
  fails({"--d-model", "65536", "--layers", "512"}, {"of memory", "--layers"});
  fails({"--config", folder / "none.toml"}, {"none.toml"});
  fails({"--config", folder.write("bad.toml", "[model]\nlayrs = 2\n")},
        {"bad.toml, line 2", "did you mean layers?"});
  fails({"--data", folder / "none.txt"}, {"there is no file or folder"});
  fails({"--data", folder.write("empty.txt", "")}, {"empty.txt is empty"});
}

TEST(Usage, APresetIsOverruledBySizeAndFlags) {
  const auto describe = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"train",          "--dry-run", "--preset",  "cpu-stories",
                                          "--corpus-bytes", "200000",    "--threads", "1",
                                          "--eval-batches", "1"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = run_tapir(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return result.out;
  };
  expect_contains(describe({"--tokenizer", "byte"}),
                  {"4 layers, 6 heads, width 192", "byte vocabulary", "16000 of 1024 tokens"});
  // The size is that with the preset's tokenizer, of 2,048 tokens.
  expect_contains(describe({"--size", "500k", "--batch", "2"}),
                  {"50", " k parameters", "bpe:2048", "16000 of 256 tokens"});
}

TEST(Usage, AnUnwritableFolderIsNamed) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  const std::string file = folder.write("file", "");
  expect_failure(run_tapir(tiny_train(data, file + "/run")), 1, {"cannot create", "file/run"});
  expect_failure(run_tapir(tiny_train(data, "/proc/run")), 1, {"cannot create /proc/run"});
}

TEST(Memory, AForecastBeyondTheMachineNamesTheFlagThatHelps) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  // One sequence fits into any machine that runs this, a million do not.
  const ProcessResult result =
      run_tapir(tiny_train(data, folder / "run", {"--batch", "16000000", "--context", "100"}));
  expect_failure(result, 1, {"would take about", "are available", "--batch", "--accumulate"});
  // Nor do the tokens of a step of 16 million sequences, one after the other.
  expect_failure(
      run_tapir(tiny_train(data, folder / "run", {"--accumulate", "16000000", "--batch", "1000"})),
      1, {"would take about", "take fewer with --batch and --accumulate"});
}

TEST(Terminal, ShowsABarAndPlainLinesOnlyElsewhere) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  const ProcessResult terminal = run_tapir(tiny_train(data, folder / "a"),
                                           {.input = "", .in_child = nullptr, .terminal = true});
  EXPECT_EQ(terminal.status, 0);
  expect_contains(terminal.out, {"\r\x1b[K", " % [", "=", "left", "step 6: validation loss"});
  // No line of the bar is wider than the terminal of 100 columns.
  const std::regex bar("\x1b\\[K([^\r\n\x1b]* % \\[[^\r\n\x1b]*)");
  for (std::sregex_iterator it(terminal.out.begin(), terminal.out.end(), bar), end; it != end;
       ++it) {
    EXPECT_LT((*it)[1].length(), 100);
  }
  const ProcessResult piped = run_tapir(tiny_train(data, folder / "b"));
  EXPECT_EQ(piped.out.find('\r'), std::string::npos);
  EXPECT_EQ(piped.out.find('\x1b'), std::string::npos);
}

TEST(Gradcheck, ChecksLayersWithTheirOptions) {
  const ProcessResult result = run_tapir(
      {"gradcheck", "TransformerBlock", "softmax", "--norm-position", "post", "--ffn", "gelu"});
  ASSERT_EQ(result.status, 0) << result.out << result.err;
  expect_contains(result.out, {"pass TransformerBlock", "rms post-norm, gelu", "attn.q_proj.weight",
                               "analytic", "numeric", "pass softmax", " 0 failed"});
  expect_contains(run_tapir({"gradcheck", "--list"}).out,
                  {"rms_norm", "operation", "TransformerLM", "model"});
  EXPECT_EQ(run_tapir({"gradcheck", "Linear", "--dtype", "f32"}).status, 0);
  // A kind and a part of a name stand for all that have them.
  const ProcessResult several =
      run_tapir({"gradcheck", "block", "attention", "--max-elements", "3"});
  expect_contains(several.out, {"TransformerBlock", "CausalSelfAttention",
                                "scaled_dot_product_attention", " 0 failed"});
}

TEST(Gradcheck, AFailureIsTheExitStatus) {
  // Differences over so long a step see the curve of the function.
  const ProcessResult result = run_tapir({"gradcheck", "RMSNorm", "--step", "0.5"});
  EXPECT_EQ(result.status, 1);
  expect_contains(result.out, {"FAIL RMSNorm", "WRONG", "1 failed"});
  expect_failure(run_tapir({"gradcheck", "rms_nrom"}), 1, {"did you mean rms_norm?"});
  expect_failure(run_tapir({"gradcheck", "TransformerBlock", "--heads", "3"}), 1, {"--heads 3"});
  expect_failure(run_tapir({"gradcheck", "Linear", "--dtype", "f16"}), 1, {"--dtype", "f64, f32"});
}

TEST(Selftest, ComparesTheCpuWithItself) {
  const ProcessResult result = run_tapir({"selftest", "--device", "cpu"});
  ASSERT_EQ(result.status, 0) << result.out << result.err;
  expect_contains(result.out, {"cpu", "matmul f64", "softmax bf16", "TransformerLM f32",
                               "training f32", " 0 failed"});
  EXPECT_EQ(result.out.find("FAIL"), std::string::npos);
  expect_failure(run_tapir({"selftest", "--device", "tpu"}), 1, {"tpu"});
}

TEST(Info, DescribesTheMachine) {
  const ProcessResult result = run_tapir({"info"});
  ASSERT_EQ(result.status, 0) << result.err;
  expect_contains(result.out, {"tapir ", "build ", "processor ", "instructions ", "kernels",
                               "threads ", "memory ", "GiB", "OpenBLAS ", "threading", "CUDA "});
}

TEST(Info, TellsWhatAModelIs) {
  const TinyRun tiny;
  const ProcessResult result = run_tapir({"info", tiny.run, "--checkpoint", "last"});
  ASSERT_EQ(result.status, 0) << result.err;
  double best = 1e9;
  for (const nlohmann::json& line : json_lines(read_text(tiny.run + "/metrics.jsonl"))) {
    if (line.contains("val_loss")) best = std::min(best, line["val_loss"].get<double>());
  }
  // 257 tokens of width 16 in and out, a block with a feed-forward width of 64, three norms.
  const int parameters = 2 * 257 * 16 + 4 * 16 * 16 + 3 * 16 * 64 + 3 * 16;
  expect_contains(result.out, {"checkpoints/last", "step             12 of 12",
                               "parameters       " + std::to_string(parameters) + " (",
                               "1 layers, width 16, 2 heads of 8", "swiglu", "context 16",
                               "rms pre", "rope", "byte, vocabulary of 257, hash ", "text.txt: ",
                               "shuffled", "nats/token", "format           2, written by tapir "});
  EXPECT_EQ(result.out.find("processor"), std::string::npos);
  expect_contains(run_tapir({"info", tiny.run}).out, {fmt::format("{:.4f} nats/token", best)});
  const std::string imported = std::string(TAPIR_TEST_DIR) + "/interchange/llama3";
  expect_contains(run_tapir({"info", imported}).out,
                  {"8032 (", "not trained by this program", "tied embeddings", "transformers"});
  expect_failure(run_tapir({"info", tiny / "none"}), 1, {"there is no run", "none"});
  expect_failure(run_tapir({"info", "--checkpoint", "last"}), 1, {"--checkpoint last", "a run"});
}

TEST(Info, WarnsOnceOfSlowKernels) {
  ProcessOptions options;
  options.in_child = [] { setenv("OPENBLAS_CORETYPE", "Prescott", 1); };
  const ProcessResult result = run_tapir({"info"}, options);
  EXPECT_EQ(result.status, 0);
  expect_contains(result.err, {"warning", "Prescott", "OPENBLAS_CORETYPE"});
  EXPECT_EQ(result.err.find("warning"), result.err.rfind("warning"));
}

TEST(CorpusCommand, WritesStoriesAndTheirEntropy) {
  TemporaryFolder folder;
  const ProcessResult text = run_tapir({"corpus", "--bytes", "2k", "--seed", "3"});
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_GE(text.out.size(), 2000u);
  expect_contains(text.err, {"stories", "bits per byte"});
  const std::string file = folder / "stories.txt";
  ASSERT_EQ(run_tapir({"corpus", "--bytes", "2k", "--seed", "3", "--out", file}).status, 0);
  EXPECT_EQ(read_text(file), text.out);
  expect_contains(run_tapir({"corpus", "--bytes", "2k", "--separator", "<|endoftext|>"}).out,
                  {"\n<|endoftext|>"});
  expect_failure(run_tapir({"corpus", "--bytes", "much"}), 1, {"--bytes", "'much'"});
  expect_failure(run_tapir({"corpus", "--out", folder / "no/file"}), 1, {"no/file"});
}

}  // namespace
}  // namespace tapir::testing
