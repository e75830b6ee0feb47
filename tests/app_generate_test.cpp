// `tapir generate`, `eval` and `plot` as a user runs them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/tiny_run.h"

namespace tapir::testing {
namespace {

namespace fs = std::filesystem;

const TinyRun& tiny() {
  static const TinyRun run;
  return run;
}

ProcessResult generate(const std::vector<std::string>& more, const ProcessOptions& options = {}) {
  std::vector<std::string> arguments = {"generate", tiny().run, "--threads", "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_tapir(arguments, options);
}

TEST(Generate, WritesTextToOutputAndTheRestToErrors) {
  const ProcessResult result = generate({"--prompt", "The cat", "--tokens", "20"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out.rfind("The cat", 0), 0u) << result.out;
  EXPECT_EQ(result.out.back(), '\n');
  expect_contains(result.err, {"prompt: 7 tokens", "generated: ", "tokens/s"});
  const ProcessResult bare = generate({"--prompt", "The cat", "--tokens", "20", "--no-echo"});
  EXPECT_EQ("The cat" + bare.out, result.out);
}

TEST(Generate, TheSameSeedGivesTheSameText) {
  const std::vector<std::string> arguments = {"--prompt", "The", "--tokens", "30", "--seed", "5"};
  const std::string text = generate(arguments).out;
  EXPECT_EQ(generate(arguments).out, text);
  EXPECT_NE(generate({"--prompt", "The", "--tokens", "30", "--seed", "6"}).out, text);
  const std::vector<std::string> greedy = {"--prompt", "The",           "--tokens",
                                           "30",       "--temperature", "0"};
  EXPECT_EQ(generate(greedy).out,
            generate({"--prompt", "The", "--tokens", "30", "--top-k", "1", "--seed", "9"}).out);
}

TEST(Generate, TakesPromptsFromFilesAndStandardInput) {
  const std::string expected = generate({"--prompt", "A cat\n", "--tokens", "9"}).out;
  const std::string file = tiny().folder().write("prompt.txt", "A cat\n");
  EXPECT_EQ(generate({"--prompt-file", file, "--tokens", "9"}).out, expected);
  EXPECT_EQ(generate({"--prompt-file", "-", "--tokens", "9"}, {.input = "A cat\n"}).out, expected);
  const ProcessResult nothing = generate({"--tokens", "0"});  // no prompt at all
  EXPECT_EQ(nothing.status, 0);
  expect_contains(nothing.err, {"generated: 0 tokens, unknown tokens/s"});
  expect_failure(generate({"--prompt", "a", "--prompt-file", file}), 1, {"not both"});
  expect_failure(generate({"--prompt-file", tiny() / "none"}), 1, {"none"});
}

TEST(Generate, SamplesOfABatchEqualEachAlone) {
  const ProcessResult batch =
      generate({"--prompt", "The", "--tokens", "12", "--samples", "3", "--seed", "4"});
  ASSERT_EQ(batch.status, 0) << batch.err;
  std::string alone;
  for (const char* seed : {"4", "5", "6"}) {
    alone += alone.empty() ? "" : "----------------\n";
    alone += generate({"--prompt", "The", "--tokens", "12", "--seed", seed}).out;
  }
  EXPECT_EQ(batch.out, alone);
}

// The first two letters next to each other behind the first ten bytes.
std::string two_letters_of(const std::string& text) {
  for (size_t i = 10; i + 1 < text.size(); ++i) {
    if (std::isalpha(text[i]) && std::isalpha(text[i + 1])) return text.substr(i, 2);
  }
  return "";
}

TEST(Generate, EndsBeforeAStopString) {
  const std::vector<std::string> arguments = {"--prompt", "The", "--tokens", "300", "--seed", "2"};
  const std::string text = generate(arguments).out;
  const std::string stop = two_letters_of(text);  // two tokens of a model of bytes
  ASSERT_FALSE(stop.empty()) << text;
  std::vector<std::string> stopping = arguments;
  stopping.insert(stopping.end(), {"--stop", "no such", "--stop", stop});
  const ProcessResult result = generate(stopping);
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, text.substr(0, text.find(stop, 3)) + "\n");
}

bool is_valid_utf8(const std::string& text) {
  try {
    static_cast<void>(nlohmann::json(text).dump());  // refuses anything else
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

TEST(Generate, OutputIsAlwaysValidUtf8) {
  // A hot model of bytes writes many that are no text.
  const ProcessResult result =
      generate({"--prompt", "\xC3\xA9t\xC3\xA9 \xFF", "--tokens", "200", "--temperature", "50"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(is_valid_utf8(result.out));
  expect_contains(result.out, {"\xC3\xA9t\xC3\xA9 \xEF\xBF\xBD"});
  expect_contains(result.err, {"note: the prompt is not valid UTF-8"});
}

// A hot model of bytes also writes escape sequences.
TEST(Generate, NothingThatItWritesDrivesATerminal) {
  std::vector<std::string> hot = {"generate", tiny().run,      "--threads", "1",     "--tokens",
                                  "400",      "--temperature", "50",        "--seed"};
  int seed = 1;
  const auto with_escape = [&] {
    std::vector<std::string> arguments = hot;
    arguments.push_back(std::to_string(seed));
    return run_tapir(arguments).out.find('\x1b') != std::string::npos;
  };
  while (!with_escape() && seed < 50) ++seed;
  hot.push_back(std::to_string(seed));
  EXPECT_NE(run_tapir(hot).out.find('\x1b'), std::string::npos);
  const std::string shown =
      run_tapir(hot, {.input = "", .in_child = nullptr, .terminal = true}).out;
  EXPECT_EQ(shown.find('\x1b'), std::string::npos) << shown;
  expect_contains(shown, {"\xEF\xBF\xBD", "tokens/s"});
}

TEST(Generate, SaysWhenThePromptIsLongerThanTheContext) {
  const ProcessResult result = generate({"--prompt", std::string(40, 'a'), "--tokens", "5"});
  EXPECT_EQ(result.status, 0) << result.err;
  expect_contains(result.err, {"note: the prompt has 40 tokens; the model sees only the last 16"});
}

TEST(Generate, WritesProbabilitiesAsJsonLines) {
  const ProcessResult result =
      generate({"--prompt", "The", "--tokens", "4", "--temperature", "0", "--logprobs"});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::vector<nlohmann::json> lines = json_lines(result.out);
  ASSERT_EQ(lines.size(), 4u);
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(lines[i]["index"], i);
    EXPECT_EQ(lines[i]["top"].size(), 5u);
    // Greedy choice: the likeliest token.
    EXPECT_EQ(lines[i]["id"], lines[i]["top"][0]["id"]);
    const double probability = lines[i]["probability"];
    EXPECT_GT(probability, 0);
    EXPECT_LE(probability, 1);
    EXPECT_NEAR(lines[i]["logprob"].get<double>(), std::log(probability), 1e-9);
    EXPECT_GE(probability, lines[i]["top"][4]["probability"].get<double>());
  }
}

TEST(Generate, ShowsTheTokensOfThePrompt) {
  const ProcessResult result = generate({"--prompt", "Hi\n", "--tokens", "1", "--show-tokens"});
  expect_contains(result.err, {"72  \"H\"", "105  \"i\"", "10  \"\\n\""});
}

TEST(Generate, EndsQuietlyWhenNobodyReads) {
  Process process(TAPIR_PROGRAM, {"generate", tiny().run, "--prompt", "The", "--tokens", "100000"});
  process.close_output();  // before it can have written all there is until its end of text
  const ProcessResult result = process.wait();
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
}

TEST(Generate, AFullDiskIsAnError) {
  ProcessOptions options;
  options.in_child = [] { dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO); };
  expect_failure(generate({"--prompt", "The"}, options), 1, {"standard output", "No space left"});
}

TEST(Generate, TalksInteractively) {
  const ProcessResult result = generate(
      {"--interactive", "--tokens", "5"},
      {.input = "/temperature 0\nThe cat\nThe cat\n/tokns 3\n/top-p 2\n/seed\n/quit\nnever\n"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 2) << result.out;
  EXPECT_EQ(result.out.substr(0, result.out.size() / 2), result.out.substr(result.out.size() / 2));
  expect_contains(result.err, {"/NAME VALUE", "temperature = 0", "did you mean tokens?",
                               "/top-p: 2 is too large", "seed = 3"});
  EXPECT_EQ(generate({"--interactive"}, {.input = "/help\n"}).status, 0);
  const ProcessResult stops =
      generate({"--interactive", "--tokens", "3"}, {.input = "/stop END\n/stop \nThe cat\n"});
  EXPECT_EQ(stops.out.substr(0, 7), "The cat");
  expect_contains(stops.err, {"stop = END\n", "stop = \n"});
  EXPECT_EQ(stops.err.find("--stop:"), std::string::npos) << stops.err;
}

TEST(Generate, ARefusedValueDoesNotReplaceTheOldOne) {
  const ProcessResult result =
      generate({"--interactive", "--tokens", "5"},
               {.input = "/temperature 0\n/temperature nan\n/temperature\n/top-k -3\n/top-k\n"
                         "/tokens 1e3\n/tokens\nThe cat\n"});
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out.substr(0, 7), "The cat");
  EXPECT_GT(result.out.size(), 8u);
  expect_contains(result.err,
                  {"/temperature: nan is not a usable value\ntemperature = 0\n",
                   "/top-k: -3 is too small; the least is 0\ntop-k = 0\n", "tokens = 5\n"});
}

// A model whose tokenizer has a special token of its own.
class SeparatorRun {
 public:
  SeparatorRun() : run(folder_ / "run") {
    const std::string data = folder_.write("text.txt", small_text()), tokens = folder_ / "tokens";
    EXPECT_EQ(run_tapir({"tokenizer", "train", "--data", data, "--vocab-size", "280", "--special",
                         "<sep>", "--out", tokens})
                  .status,
              0);
    EXPECT_EQ(run_tapir(tiny_train(data, run, {"--tokenizer", tokens})).status, 0);
  }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;

 public:
  std::string run;
};

TEST(Generate, APromptMaySpellSpecialTokensIfAsked) {
  const SeparatorRun separator;
  const std::string prompt = "a<sep>b", file = separator.folder().write("prompt.txt", prompt);
  const auto run = [&](const std::vector<std::string>& more, const std::string& input = "") {
    std::vector<std::string> arguments = {"generate", separator.run,   "--tokens",
                                          "9",        "--temperature", "0"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = run_tapir(arguments, {.input = input});
    EXPECT_EQ(result.status, 0) << result.err;
    return result;
  };
  const std::string separator_line = "    279  \"<sep>\"\n";
  const ProcessResult plain = run({"--prompt", prompt, "--show-tokens"});
  EXPECT_EQ(plain.err.find(separator_line), std::string::npos) << plain.err;
  expect_contains(plain.err, {"prompt: 7 tokens"});
  const ProcessResult parsed = run({"--prompt", prompt, "--show-tokens", "--parse-special"});
  expect_contains(parsed.err, {"\"a\"\n" + separator_line, "prompt: 3 tokens"});
  const ProcessResult from_file = run({"--prompt-file", file, "--show-tokens", "--parse-special"});
  expect_contains(from_file.err, {separator_line, "prompt: 3 tokens"});
  EXPECT_EQ(from_file.out, parsed.out);
  const ProcessResult talk = run({"--interactive", "--parse-special"}, prompt + "\n");
  EXPECT_EQ(talk.out, parsed.out);
  expect_contains(run({"--interactive"}, "/parse-special true\n").err, {"parse-special = true"});
}

TEST(Generate, NamesWhatIsWrong) {
  const auto fails = [](const std::vector<std::string>& arguments,
                        const std::vector<std::string>& parts) {
    expect_failure(generate(arguments), 1, parts);
  };
  fails({"--top-p", "0"}, {"--top-p"});
  fails({"--top-p", "1.5"}, {"--top-p: 1.5 is too large"});
  fails({"--temperature", "-1"}, {"--temperature: -1 is too small"});
  fails({"--top-k", "-1"}, {"--top-k: -1 is too small"});
  fails({"--stop", ""}, {"--stop", "empty"});
  fails({"--checkpoint", "step-99"}, {"no checkpoint"});
  fails({"--device", "tpu"}, {"tpu"});
  expect_failure(run_tapir({"generate", tiny() / "nowhere"}), 1, {"there is no run", "nowhere"});
  expect_failure(run_tapir({"generate", tiny().folder().path().string()}), 1,
                 {"holds no checkpoints"});
}

// A copy of the run's last checkpoint with one file changed.
std::string damaged(const std::string& file, const std::function<void(std::string&)>& change) {
  const std::string folder = tiny() / ("damaged-" + file);
  fs::remove_all(folder);
  fs::copy(tiny() / "run/checkpoints/step-12", folder);
  std::string bytes = read_text(folder + "/" + file);
  change(bytes);
  std::ofstream(folder + "/" + file, std::ios::binary) << bytes;
  return folder;
}

TEST(Checkpoint, DamageIsNamed) {
  const auto expect_refused = [](const std::string& file, auto change,
                                 const std::vector<std::string>& parts) {
    expect_failure(run_tapir({"generate", damaged(file, change), "--tokens", "1"}), 1, parts);
  };
  const auto replace = [](const std::string& from, const std::string& to) {
    return [from, to](std::string& text) { text.replace(text.find(from), from.size(), to); };
  };
  expect_refused("model.safetensors", [](std::string& b) { b.resize(b.size() / 2); },
                 {"model.safetensors"});
  expect_refused("model.safetensors", [](std::string& b) { b = "not a model"; },
                 {"model.safetensors"});
  expect_refused("model.safetensors", replace("lm_head", "lm_haed"),
                 {"model.safetensors", "missing lm_head.weight"});
  expect_refused("state.json", [](std::string& b) { b.resize(b.size() / 2); }, {"state.json"});
  expect_refused("state.json", replace("\"layers\": 1", "\"layers\": 2"), {"missing layers.1"});
  expect_refused("state.json", replace("\"layers\": 1", "\"layrs\": 1"),
                 {"'layrs'", "did you mean layers?"});
  expect_refused("state.json", replace("\"heads\": 2", "\"heads\": 3"), {"--heads 3"});
  expect_refused("state.json", replace("\"heads\": 2", "\"heads\": null"), {"heads"});
  expect_refused("tokenizer.json", [](std::string& b) { b = "{}"; }, {"tokenizer"});
  expect_refused("state.json", replace("\"tokenizer_hash\": \"", "\"tokenizer_hash\": \"0"),
                 {"not the tokenizer that the model was trained with"});
  expect_failure(run_tapir({"generate", tiny() / "run", "--checkpoint", "7"}), 1,
                 {"no checkpoint '7'"});
}

// What only the values of the weights show.
TEST(Checkpoint, WeightsOfAnotherModelAreNotMeasuredNorExported) {
  const std::string other = tiny() / "other-seed";
  ASSERT_EQ(run_tapir(tiny_train(tiny().data, other, {"--seed", "99"})).status, 0);
  const std::string weights = read_text(other + "/checkpoints/last/model.safetensors");
  const std::string foreign =
      damaged("model.safetensors", [&](std::string& bytes) { bytes = weights; });
  const std::string flipped = damaged("state.json", [](std::string& text) {
    text.replace(text.find("\"rope-theta\": 10000"), 19, "\"rope-theta\": 10001");
  });
  for (const auto& [folder, file] : {std::pair(foreign, "model.safetensors has changed"),
                                     std::pair(flipped, "state.json has changed")}) {
    const std::vector<std::string> parts = {file, "since it was written", "another checkpoint"};
    expect_failure(run_tapir({"eval", folder, "--data", tiny().data}), 1, parts);
    expect_failure(run_tapir({"export", folder, "--out", tiny() / "exported"}), 1, parts);
    expect_failure(run_tapir({"inspect", folder, "--prompt", "The"}), 1, parts);
  }
  EXPECT_FALSE(fs::exists(tiny() / "exported"));
  // The optimizer's state is no part of the model.
  const std::string slim = damaged("tokenizer.json", [](std::string&) {});
  fs::remove(slim + "/optimizer.safetensors");
  EXPECT_EQ(run_tapir({"eval", slim, "--data", tiny().data}).status, 0);
}

// A copy of a run with four checkpoints, to be changed.
class Steps {
 public:
  Steps() {
    static const TinyRun original;
    static const bool trained = run_tapir(tiny_train(original.data, original / "four",
                                                     {"--save-every", "4", "--keep", "9"}))
                                    .status == 0;
    EXPECT_TRUE(trained);
    fs::copy(original / "four", run(),
             fs::copy_options::recursive | fs::copy_options::copy_symlinks);
  }
  std::string run() const { return folder_ / "run"; }
  std::string checkpoints() const { return run() + "/checkpoints/"; }
  void remove(const char* name) const { fs::remove_all(checkpoints() + name); }
  void write(const char* name, const std::string& text) const {
    remove(name);
    folder_.write(std::string("run/checkpoints/") + name, text);
  }
  ProcessResult info(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {"info", run()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tapir(arguments);
  }
  void expect_step(int step, const std::vector<std::string>& more = {}) const {
    const ProcessResult result = info(more);
    EXPECT_EQ(result.status, 0) << result.err;
    expect_contains(result.out, {fmt::format("{:<16} {} ", "step", step)});
  }

 private:
  TemporaryFolder folder_;
};

TEST(Checkpoint, ThoseThatThereAreAreNamed) {
  const Steps steps;
  expect_failure(steps.info({"--checkpoint", "7"}), 1,
                 {"run has no checkpoint '7'; it has best, last, 12, 8, 6, 4"});
  steps.expect_step(8, {"--checkpoint", "8"});
  steps.expect_step(8, {"--checkpoint", "step-8"});
  steps.remove("best");
  expect_failure(steps.info({"--checkpoint", "best"}), 1,
                 {"has no checkpoint 'best'; it has last, 12, 8, 6, 4"});
  for (const char* name : {"last", "step-4", "step-6", "step-8", "step-12"}) steps.remove(name);
  expect_failure(steps.info(), 1, {"run has no checkpoint; it has none at all"});
}

TEST(Checkpoint, OnlyTheChosenOneMustBeIntact) {
  const Steps steps;
  const std::string file = steps.checkpoints() + "step-8/model.safetensors";
  std::string bytes = read_text(file);
  bytes[bytes.size() - 2] ^= 4;
  std::ofstream(file, std::ios::binary) << bytes;
  const auto with = [&](const std::string& command, const std::string& which) {
    const std::vector<std::string> more = command == "eval"
                                              ? std::vector<std::string>{"--batches", "1"}
                                              : std::vector<std::string>{"--prompt", "The"};
    std::vector<std::string> arguments = {command, steps.run(), "--checkpoint", which};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tapir(arguments);
  };
  for (const char* command : {"eval", "inspect"}) {
    EXPECT_EQ(with(command, "4").status, 0) << command;
    expect_failure(with(command, "8"), 1, {"step-8/model.safetensors has changed"});
  }
}

TEST(Checkpoint, WithoutLinksItIsTheNewestStep) {
  const Steps steps;
  steps.remove("best");
  steps.remove("last");
  steps.expect_step(12);
  fs::create_symlink("step-99", steps.checkpoints() + "best");
  fs::create_symlink("step-4", steps.checkpoints() + "last");
  steps.expect_step(4);
  steps.remove("last");
  steps.expect_step(12);
  fs::remove(steps.checkpoints() + "step-12/state.json");
  steps.expect_step(8);
}

TEST(Checkpoint, AFileInPlaceOfALinkMayEndItsLineAsOtherSystemsDo) {
  const Steps steps;
  for (const char* name : {"step-4\r\n", "step-4\n", "step-4"}) {
    steps.write("best", name);
    steps.expect_step(4);
    steps.expect_step(4, {"--checkpoint", "best"});
  }
  steps.write("best", std::string(30'000'000, 'x'));
  const ProcessResult named = steps.info({"--checkpoint", "best"});
  expect_failure(named, 1, {"has no checkpoint 'best'; it has last, 12, 8, 6, 4"});
  EXPECT_LT(named.err.size(), 1000u);
  steps.expect_step(12);
}

// What other versions write may lack fields and have others. The user hears of the version.
TEST(Checkpoint, AnotherFormatIsNamed) {
  const auto expect_foreign = [](const std::string& from, const std::string& to,
                                 const std::string& part) {
    const std::string folder = damaged("state.json", [&](std::string& text) {
      const size_t at = text.find(from);
      ASSERT_NE(at, std::string::npos);
      text.replace(at, from.size(), to);
    });
    for (const char* command : {"generate", "eval", "info"}) {
      expect_failure(run_tapir({command, folder}), 1,
                     {"state.json was written by another version of Tapir", "different format",
                      part, "that version"});
    }
  };
  expect_foreign("\"format\": 2", "\"format\": 1", "it has format 1, this one reads format 2");
  expect_foreign("\"format\": 2", "\"format\": 9", "it has format 9");
  expect_foreign("\"format\": 2", "\"format\": \"new\"", "it has format \"new\"");
  expect_foreign("\"format\": 2,", "", "it has format null");
  expect_foreign("\"data_seed\"", "\"sampler_seed\"", "it has no training.data_seed");
  expect_foreign("\"training\"", "\"progress\"", "it has no training.step");
  expect_foreign("\"end_tokens\"", "\"eos\"", "it has no end_tokens");
  expect_foreign("\"program\"", "\"writer\"", "Tapir (unknown)");
}

TEST(Eval, PredictsAWholeFile) {
  const ProcessResult result = run_tapir({"eval", tiny().run, "--data", tiny().data});
  ASSERT_EQ(result.status, 0) << result.err;
  expect_contains(result.out, {"loss", "nats/token", "perplexity", "bits per byte", "tokens/s"});
  const auto size = static_cast<size_t>(fs::file_size(tiny().data));
  expect_contains(result.out, {fmt::format("{} tokens, {} bytes", size, size)});
}

TEST(Eval, WritesTheLossOfEachToken) {
  const std::string file = tiny().folder().write("few.txt", "The cat sat on the mat again.");
  const ProcessResult result =
      run_tapir({"eval", tiny().run, "--data", file, "--stride", "3", "--per-token"});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::vector<nlohmann::json> lines = json_lines(result.out);
  ASSERT_EQ(lines.size(), 29u);
  double sum = 0;
  for (const nlohmann::json& line : lines) sum += line["loss"].get<double>();
  expect_contains(result.err, {fmt::format("loss           {:.4f}", sum / 29)});
  expect_failure(run_tapir({"eval", tiny().run, "--data", file, "--stride", "17"}), 1,
                 {"--stride 17", "context of 16"});
  expect_failure(run_tapir({"eval", tiny().run, "--per-token"}), 1, {"--data"});
  expect_failure(run_tapir({"eval", tiny().run, "--data", tiny() / "none"}), 1, {"none"});
}

// Without a text of its own it repeats what training measured at that checkpoint.
TEST(Eval, RepeatsTheValidationOfTheRun) {
  const ProcessResult result =
      run_tapir({"eval", tiny().run, "--checkpoint", "last", "--batches", "2"});
  ASSERT_EQ(result.status, 0) << result.err;
  const double loss = json_lines(read_text(tiny() / "run/metrics.jsonl")).back()["val_loss"];
  expect_contains(result.out, {fmt::format("loss           {:.4f}", loss)});
}

TEST(Generate, ShowsHowMuchIsCopied) {
  const ProcessResult result =
      generate({"--prompt", "The", "--tokens", "50", "--temperature", "0", "--overlap"});
  ASSERT_EQ(result.status, 0) << result.err;
  expect_contains(result.err, {"longest passage that is also in the", "of training text:"});
}

TEST(Plot, DrawsInTheTerminalAndAsAPicture) {
  const ProcessResult text = run_tapir({"plot", tiny().run, "--width", "60", "--height", "12"});
  ASSERT_EQ(text.status, 0) << text.err;
  EXPECT_EQ(std::count(text.out.begin(), text.out.end(), '\n'), 12);
  expect_contains(text.out, {"Loss", "training", "validation", "step"});
  const std::string picture = tiny() / "two.svg";
  ASSERT_EQ(run_tapir({"plot", tiny().run, tiny().run, "--svg", picture}).status, 0);
  expect_contains(read_text(picture), {"<svg", "run training", "<circle", "</svg>"});
  expect_failure(run_tapir({"plot", tiny() / "none"}), 1, {"metrics.jsonl"});
  expect_failure(run_tapir({"plot", tiny().run, "--svg", tiny() / "no/folder.svg"}), 1,
                 {"folder.svg"});
}

TEST(Plot, NamesRunsApart) {
  const std::string picture = tiny() / "names.svg", other = tiny() / "other/run";
  fs::create_directories(tiny() / "other/run");
  fs::copy(tiny() / "run/metrics.jsonl", other + "/metrics.jsonl");
  fs::copy(other, tiny() / "second");
  ASSERT_EQ(run_tapir({"plot", tiny() / "run/", tiny() / "second/", "--svg", picture}).status, 0);
  expect_contains(read_text(picture), {">run training<", ">second training<"});
  ASSERT_EQ(run_tapir({"plot", tiny().run, other, "--svg", picture}).status, 0);
  expect_contains(read_text(picture),
                  {">" + tiny().run + " training<", ">" + other + " training<"});
}

// Steps of an axis must not be smaller than the distance of two numbers, nor values without bound.
TEST(Plot, EndsWhateverTheLossesAre) {
  const std::string run = tiny() / "odd";
  fs::create_directories(run);
  for (const char* second : {"1.0", "1.0000000000000002", "1e308", "-1e308", "null"}) {
    std::ofstream(run + "/metrics.jsonl")
        << "{\"step\": 9007199254740992, \"loss\": 1.0}\n{\"step\": 9007199254740994, \"loss\": "
        << second << "}\n";
    EXPECT_EQ(run_tapir({"plot", run}).status, 0) << second;
    EXPECT_EQ(run_tapir({"plot", run, "--svg", run + "/loss.svg"}).status, 0) << second;
  }
}

TEST(Plot, SkipsALineThatWasCutOff) {
  const std::string run = tiny() / "cut";
  fs::create_directories(run);
  const std::string metrics = read_text(tiny() / "run/metrics.jsonl");
  std::ofstream(run + "/metrics.jsonl") << metrics.substr(0, metrics.size() - 10);
  EXPECT_EQ(run_tapir({"plot", run}).status, 0);
  std::ofstream(run + "/metrics.jsonl") << "{\"step\": 1}\nnonsense\n";
  expect_failure(run_tapir({"plot", run}), 1, {"metrics.jsonl, line 2"});
  std::ofstream(run + "/metrics.jsonl") << "";
  expect_failure(run_tapir({"plot", run}), 1, {"no measurements"});
}

}  // namespace
}  // namespace tapir::testing
