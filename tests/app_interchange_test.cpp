// `tapir import` and `tapir export` as a user runs them.
#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/tiny_run.h"

namespace tapir::testing {
namespace {

namespace fs = std::filesystem;

std::string golden(const std::string& name) {
  return std::string(TAPIR_TEST_DIR) + "/interchange/" + name;
}

std::vector<std::string> greedy(const std::string& model) {
  return {"generate", model, "--prompt", "The cat", "--tokens", "20", "--temperature", "0"};
}

TEST(Import, MakesARunThatEveryCommandTakes) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const ProcessResult imported = run_tapir({"import", golden("llama3"), "--out", run});
  ASSERT_EQ(imported.status, 0) << imported.err;
  expect_contains(imported.out, {"8032 parameters", "2 layers", "vocabulary of 257",
                                 "context of 256", "tapir generate " + run});
  const ProcessResult direct = run_tapir(greedy(golden("llama3")));
  ASSERT_EQ(direct.status, 0) << direct.err;
  EXPECT_EQ(run_tapir(greedy(run)).out, direct.out);
  const std::string text = folder.write("text.txt", small_text().substr(0, 500));
  const ProcessResult eval = run_tapir({"eval", run, "--data", text});
  ASSERT_EQ(eval.status, 0) << eval.err;
  expect_contains(eval.out, {"perplexity"});
  EXPECT_EQ(run_tapir({"eval", golden("llama3"), "--data", text}).status, 0);
  expect_failure(run_tapir({"eval", run}), 1, {"not trained by this program", "--data"});
  expect_failure(run_tapir({"import", golden("llama3"), "--out", run}), 1, {"--overwrite"});
  EXPECT_EQ(run_tapir({"import", golden("grouped"), "--out", run, "--overwrite"}).status, 0);
}

// A limit on the size of files stands in for a full disk: both fail in the same calls.
ProcessResult import_on_a_full_disk(const std::string& out) {
  ProcessOptions options;
  options.in_child = [] {
    const rlimit limit{8192, 8192};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  return run_tapir({"import", golden("grouped"), "--out", out, "--overwrite"}, options);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    names.push_back(entry.path().lexically_relative(folder).string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST(Import, AFailureKeepsTheRunThatWasThere) {
  const TinyRun tiny;
  const std::vector<std::string> names = names_in(tiny.run);
  const std::string text = run_tapir(greedy(tiny.run)).out;
  expect_failure(import_on_a_full_disk(tiny.run), 1, {"cannot write", "File too large"});
  EXPECT_EQ(names_in(tiny.run), names);
  EXPECT_EQ(run_tapir(greedy(tiny.run)).out, text);
  EXPECT_EQ(run_tapir({"train", "--resume", tiny.run, "--steps", "13"}).status, 0);
}

TEST(Import, AFailureLeavesNoRunBehind) {
  const TemporaryFolder folder;
  expect_failure(import_on_a_full_disk(folder / "run"), 1, {"cannot write", "File too large"});
  EXPECT_FALSE(fs::exists(folder / "run"));
  EXPECT_EQ(run_tapir({"import", golden("grouped"), "--out", folder / "run"}).status, 0);
}

TEST(Import, ReplacesAWholeRunAndNothingElse) {
  const TinyRun tiny;
  const std::string notes = tiny.folder().write("run/notes.txt", "years of work");
  tiny.folder().write("run/samples.txt", "of the old run");
  ASSERT_EQ(run_tapir({"import", golden("grouped"), "--out", tiny.run, "--overwrite"}).status, 0);
  EXPECT_EQ(names_in(tiny.run),
            (std::vector<std::string>{"checkpoints", "checkpoints/last", "checkpoints/step-0",
                                      "checkpoints/step-0/model.safetensors",
                                      "checkpoints/step-0/state.json",
                                      "checkpoints/step-0/tokenizer.json", "config.toml",
                                      "metrics.jsonl", "notes.txt", "run.lock"}));
  EXPECT_EQ(read_text(notes), "years of work");
  EXPECT_EQ(read_text(tiny.run + "/metrics.jsonl"), "");
  EXPECT_EQ(run_tapir(greedy(tiny.run)).out, run_tapir(greedy(golden("grouped"))).out);
}

TEST(Import, ARunIsNotMadeInTheFolderOfAModel) {
  const TemporaryFolder folder;
  fs::copy(golden("grouped"), folder / "model", fs::copy_options::recursive);
  const std::vector<std::string> names = names_in(folder / "model");
  for (const char* out : {"model", "model/", "model/../model"}) {
    expect_failure(run_tapir({"import", folder / "model", "--out", folder / out, "--overwrite"}), 1,
                   {"holds a model of transformers", "choose another folder with --out"});
  }
  EXPECT_EQ(names_in(folder / "model"), names);
}

// The third token that the model writes becomes one that ends a text.
TEST(Import, GenerationEndsAtAnyOfSeveralIds) {
  const TemporaryFolder folder;
  fs::copy(golden("llama3"), folder / "model", fs::copy_options::recursive);
  std::vector<std::string> with_tokens = {"generate", folder / "model", "--tokens", "20", "--seed",
                                          "3",        "--logprobs"};
  const std::vector<nlohmann::json> tokens = json_lines(run_tapir(with_tokens).out);
  ASSERT_EQ(tokens.size(), 20u);
  const nlohmann::json third = tokens[2]["id"];
  ASSERT_TRUE(third != tokens[0]["id"] && third != tokens[1]["id"]);
  nlohmann::json config = nlohmann::json::parse(read_text(folder / "model/config.json"));
  config["eos_token_id"] = {256, third};
  folder.write("model/config.json", config.dump());
  EXPECT_EQ(json_lines(run_tapir(with_tokens).out).size(), 3u);

  const std::string run = folder / "run", text = folder.write("text.txt", small_text());
  ASSERT_EQ(run_tapir({"import", folder / "model", "--out", run}).status, 0);
  with_tokens[1] = run;
  EXPECT_EQ(json_lines(run_tapir(with_tokens).out).size(), 3u);
  // Training on keeps the ids.
  ASSERT_EQ(run_tapir({"train", "--resume", run, "--data", text, "--steps", "1", "--batch", "1",
                       "--eval-every", "0", "--sample-every", "0"})
                .status,
            0);
  const nlohmann::json state =
      nlohmann::json::parse(read_text(run + "/checkpoints/step-1/state.json"));
  EXPECT_EQ(state["end_tokens"], config["eos_token_id"]);
}

TEST(Import, TrainingGoesOnFromTheImportedWeights) {
  const TemporaryFolder folder;
  const std::string run = folder / "run";
  const std::string text = folder.write("text.txt", small_text());
  ASSERT_EQ(run_tapir({"import", golden("grouped"), "--out", run, "--context", "32"}).status, 0);
  const ProcessResult train =
      run_tapir({"train", "--resume", run, "--data", text, "--steps", "12", "--batch", "4",
                 "--sample-every", "0", "--threads", "1", "--eval-every", "6"});
  ASSERT_EQ(train.status, 0) << train.err;
  const std::vector<nlohmann::json> lines = json_lines(read_text(run + "/metrics.jsonl"));
  EXPECT_LT(lines.back()["loss"], lines.front()["loss"]);
  const ProcessResult exported =
      run_tapir({"export", run, "--format", "hf", "--out", folder / "hf"});
  ASSERT_EQ(exported.status, 0) << exported.err;
  EXPECT_EQ(run_tapir(greedy(folder / "hf")).out, run_tapir(greedy(run)).out);
}

TEST(Export, WritesTheFilesOfOtherPrograms) {
  const TinyRun tiny;
  const ProcessResult gguf =
      run_tapir({"export", tiny.run, "--format", "gguf", "--dtype", "f16", "--out", tiny / "m"});
  ASSERT_EQ(gguf.status, 0) << gguf.err;
  EXPECT_EQ(read_text(tiny / "m").substr(0, 4), "GGUF");
  expect_failure(run_tapir({"export", tiny.run, "--format", "gguf", "--out", tiny / "m"}), 1,
                 {"exists", "--overwrite"});
  expect_failure(run_tapir({"export", tiny.run}), 1, {"--out"});
  expect_failure(run_tapir({"export", tiny.run, "--format", "onnx", "--out", tiny / "x"}), 1,
                 {"--format", "onnx", "hf, gguf"});
  expect_failure(run_tapir({"export", tiny / "none", "--out", tiny / "x"}), 1, {"none"});
  const ProcessResult hf = run_tapir({"export", tiny.run, "--out", tiny / "hf/"});
  ASSERT_EQ(hf.status, 0) << hf.err;
  EXPECT_EQ(run_tapir({"export", tiny.run, "--out", tiny / "hf", "--overwrite"}).status, 0);
  EXPECT_EQ(run_tapir(greedy(tiny / "hf")).out, run_tapir(greedy(tiny.run)).out);
}

TEST(Interchange, WeightsThatAreNotFiniteAreNoted) {
  const TemporaryFolder folder;
  const std::string model = folder / "model", file = model + "/model.safetensors";
  fs::copy(golden("grouped"), model, fs::copy_options::recursive);
  std::string bytes = read_text(file);
  bytes.replace(bytes.size() - 4, 4, std::string("\0\0\xC0\x7F", 4));  // an f32
  folder.write("model/model.safetensors", bytes);
  const ProcessResult imported = run_tapir({"import", model, "--out", folder / "run"});
  ASSERT_EQ(imported.status, 0) << imported.err;
  const std::string note = "1 of the weights is not finite in f32, such as nan in ";
  expect_contains(imported.out, {note});
  const ProcessResult exported =
      run_tapir({"export", folder / "run", "--dtype", "f16", "--out", folder / "hf"});
  ASSERT_EQ(exported.status, 0) << exported.err;
  expect_contains(exported.err, {note});
}

// Whatever else the folder holds would be lost with it.
TEST(Export, ReplacesNothingButAnEarlierExport) {
  const TinyRun tiny;
  const std::string thesis = tiny.folder().write("mine/thesis.txt", "years of work");
  expect_failure(run_tapir({"export", tiny.run, "--out", tiny / "mine", "--overwrite"}), 1,
                 {"mine holds thesis.txt", "choose another place"});
  EXPECT_EQ(read_text(thesis), "years of work");
  expect_failure(run_tapir({"export", tiny.run, "--out", tiny.run, "--overwrite"}), 1,
                 {"run holds ", "choose another place"});
  EXPECT_EQ(run_tapir(greedy(tiny.run)).status, 0);
  expect_failure(run_tapir({"export", tiny.run, "--out", thesis, "--overwrite"}), 1,
                 {"thesis.txt is a file"});
  EXPECT_EQ(read_text(thesis), "years of work");
}

}  // namespace
}  // namespace tapir::testing
