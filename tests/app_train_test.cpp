// `tapir train` as a user runs it.
#include <set>

#include <gtest/gtest.h>

#include "tests/support/tiny_run.h"

namespace tapir::testing {
namespace {

namespace fs = std::filesystem;

TEST(Train, LeavesACompleteRun) {
  const TinyRun tiny;
  const std::vector<nlohmann::json> metrics = json_lines(read_text(tiny / "run/metrics.jsonl"));
  ASSERT_EQ(metrics.size(), 12u);
  for (size_t i = 0; i < metrics.size(); ++i) {
    EXPECT_EQ(metrics[i]["step"], i + 1);
    for (const char* key : {"loss", "lr", "grad_norm", "tokens_per_s", "seconds"}) {
      EXPECT_TRUE(metrics[i].contains(key)) << key;
    }
    EXPECT_EQ(metrics[i].contains("val_loss"), i == 5 || i == 11);
    EXPECT_EQ(metrics[i].contains("bits_per_byte"), i == 5 || i == 11);
  }
  EXPECT_LT(metrics[11]["loss"], metrics[0]["loss"]);
  EXPECT_LT(metrics[11]["val_loss"], metrics[5]["val_loss"]);
  EXPECT_NEAR(metrics[11]["bits_per_byte"].get<double>(),
              metrics[11]["val_loss"].get<double>() / std::log(2.0), 1e-3);
  EXPECT_TRUE(fs::exists(tiny / "run/checkpoints/last/model.safetensors"));
  EXPECT_TRUE(fs::exists(tiny / "run/checkpoints/best/state.json"));
  EXPECT_EQ(fs::read_symlink(tiny / "run/checkpoints/last"), "step-12");
  expect_contains(read_text(tiny / "run/loss.svg"), {"<svg", "</svg>", "training", "validation"});
  expect_contains(read_text(tiny / "run/config.toml"),
                  {"[model]", "layers = 1", "[optimizer]", "lr = 0.001", tiny.data});
  expect_contains(tiny.output, {"model", "parameters", "memory", "about", "step 12/12", "tokens/s",
                                "validation loss", "bits/byte", "tapir generate"});
}

// What the user sees before training: sizes, memory, time; and with --dry-run nothing else happens.
TEST(Train, ADryRunOnlyDescribes) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  const ProcessResult result = run_tapir(tiny_train(data, folder / "run", {"--dry-run"}));
  EXPECT_EQ(result.status, 0) << result.err;
  expect_contains(result.out,
                  {"parameters: 1 layers", "12 of 64 tokens", "KiB", "1 thread", "per step"});
  EXPECT_FALSE(fs::exists(folder / "run"));
  // Nor is a folder made that only the run would need.
  EXPECT_EQ(run_tapir(tiny_train(data, folder / "deep/er/run", {"--dry-run"})).status, 0);
  EXPECT_FALSE(fs::exists(folder / "deep"));
}

TEST(Train, SaysIfDocumentsMakeValidationMuchLarger) {
  TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 30; ++i) {
    const std::string text = i == 9 ? std::string(20'000, 'a') : small_text().substr(0, 300);
    lines += nlohmann::json({{"text", text}}).dump() + "\n";
  }
  const std::string data = folder.write("text.jsonl", lines);
  const ProcessResult result =
      run_tapir(tiny_train(data, folder / "run", {"--dry-run", "--val-fraction", "0.1"}));
  EXPECT_EQ(result.status, 0) << result.err;
  expect_contains(result.err, {"% of the text are for validation instead of 10 %", "--val-data"});
}

TEST(Train, ANameThatARunCannotKeepIsAnError) {
  TemporaryFolder folder;
  const std::string data = folder.write("b\xff.txt", small_text());
  expect_failure(run_tapir(tiny_train(data, folder / "run")), 1, {"not UTF-8", "rename"});
  EXPECT_FALSE(fs::exists(folder / "run"));
}

std::string metrics_without_times(const std::string& path) {
  std::string text;
  for (nlohmann::json line : json_lines(read_text(path))) {
    line.erase("seconds");
    line.erase("tokens_per_s");
    text += line.dump() + "\n";
  }
  return text;
}

TEST(Train, TheSameSeedGivesTheSameRunWithAnyNumberOfThreads) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  std::set<std::string> metrics, weights;
  const auto train = [&](const char* precision, const char* threads) {
    const std::string out = folder / (std::string(precision) + threads);
    const std::vector<std::string> options = {"--threads", threads,       "--dropout",
                                              "0.1",       "--precision", precision};
    ASSERT_EQ(run_tapir(tiny_train(data, out, options)).status, 0);
    metrics.insert(metrics_without_times(out + "/metrics.jsonl"));
    weights.insert(read_text(out + "/checkpoints/last/model.safetensors"));
  };
  for (const char* threads : {"1", "2"}) train("bf16", threads);
  EXPECT_EQ(metrics.size(), 1u);
  EXPECT_EQ(weights.size(), 1u);
  metrics.clear();
  weights.clear();
  for (const char* threads : {"1", "2"}) train("f32", threads);
  EXPECT_EQ(metrics.size(), 1u);
  EXPECT_EQ(weights.size(), 1u);
  ASSERT_EQ(run_tapir(tiny_train(data, folder / "other", {"--seed", "2"})).status, 0);
  metrics.insert(metrics_without_times(folder / "other/metrics.jsonl"));
  EXPECT_EQ(metrics.size(), 2u);
}

TEST(Train, AFileOfSettingsEqualsFlags) {
  const TinyRun tiny;
  // The configuration that the first run wrote describes it completely.
  const ProcessResult again = run_tapir(
      {"train", "--config", tiny / "run/config.toml", "--out", tiny / "again", "--lr", "0.001"});
  ASSERT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(metrics_without_times(tiny / "run/metrics.jsonl"),
            metrics_without_times(tiny / "again/metrics.jsonl"));
  EXPECT_EQ(read_text(tiny / "run/config.toml"), read_text(tiny / "again/config.toml"));
}

std::vector<double> losses(const std::string& run) {
  std::vector<double> result;
  for (const nlohmann::json& line : json_lines(read_text(run + "/metrics.jsonl"))) {
    result.push_back(line["loss"]);
  }
  return result;
}

// The same windows in one batch of 32 or in four of eight: equal up to the rounding of f32 sums.
TEST(Train, AccumulationEqualsALargerBatch) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  ASSERT_EQ(run_tapir(tiny_train(data, folder / "one", {"--batch", "32"})).status, 0);
  ASSERT_EQ(
      run_tapir(tiny_train(data, folder / "four", {"--batch", "8", "--accumulate", "4"})).status,
      0);
  const std::vector<double> one = losses(folder / "one"), four = losses(folder / "four");
  ASSERT_EQ(one.size(), four.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], four[i], 2e-5) << "step " << i + 1;
}

TEST(Train, ActivationCheckpointsChangeNothingButMemory) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  ASSERT_EQ(run_tapir(tiny_train(data, folder / "a", {"--dropout", "0.2"})).status, 0);
  ASSERT_EQ(
      run_tapir(tiny_train(data, folder / "b", {"--dropout", "0.2", "--checkpoint-activations"}))
          .status,
      0);
  EXPECT_EQ(losses(folder / "a"), losses(folder / "b"));
}

// Steps far too long: the first value that is not finite is named, with the layer that made it.
TEST(Train, NamesTheFirstValueThatIsNotFinite) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  const std::vector<std::string> wild = {"--lr",    "100000", "--warmup",     "0",
                                         "--clip",  "0",      "--norm",       "none",
                                         "--steps", "200",    "--eval-every", "0"};
  expect_failure(run_tapir(tiny_train(data, folder / "run", wild)), 1,
                 {"the loss of step", "is not finite; first: ", " (in ", "NaN or infinite",
                  "--detect-anomaly"});
  std::vector<std::string> watched = wild;
  watched.insert(watched.end(), {"--detect-anomaly", "--overwrite"});
  // Looking at every operation, it stops inside the step.
  expect_failure(run_tapir(tiny_train(data, folder / "run", watched)), 1,
                 {" (in layers.0", "anomaly: ", "at step"});
}

TEST(Train, LearnsOneBatchByHeart) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  const ProcessResult result = run_tapir(
      tiny_train(data, folder / "run",
                 {"--overfit-one-batch", "--steps", "150", "--lr", "1e-2", "--eval-every", "0"}));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_LT(losses(folder / "run").back(), 0.3);
}

TEST(Train, StopsWhenValidationGetsNoBetter) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  // With a learning rate of nothing, no validation is better than the first.
  const ProcessResult result =
      run_tapir(tiny_train(data, folder / "run",
                           {"--patience", "2", "--eval-every", "3", "--lr", "0", "--min-lr", "0"}));
  EXPECT_EQ(result.status, 0) << result.err;
  expect_contains(result.out, {"step 9:", "--patience"});
  EXPECT_EQ(losses(folder / "run").size(), 9u);
}

TEST(Train, KeepsTheNewestCheckpointsWithBestAndLast) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  ASSERT_EQ(run_tapir(tiny_train(data, folder / "run",
                                 {"--save-every", "2", "--keep", "2", "--eval-every", "4"}))
                .status,
            0);
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder / "run/checkpoints")) {
    names.insert(entry.path().filename().string());
  }
  EXPECT_EQ(names, (std::set<std::string>{"best", "last", "step-8", "step-10", "step-12"}));
}

TEST(Train, ShowsSampleTexts) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  const ProcessResult result = run_tapir(
      tiny_train(data, folder / "run",
                 {"--sample-every", "6", "--sample-tokens", "9", "--sample-prompt", "The"}));
  ASSERT_EQ(result.status, 0) << result.err;
  expect_contains(result.out, {"sample at step 6:", "sample at step 12:", "  | The"});
  expect_contains(read_text(folder / "run/samples.txt"), {"==== step 6\nThe", "==== step 12\nThe"});
}

TEST(Train, TrainsOnTheBuiltInStoriesAboveTheirFloor) {
  TemporaryFolder folder;
  const ProcessResult result = run_tapir({"train",
                                          "--out",
                                          folder / "run",
                                          "--layers",
                                          "1",
                                          "--heads",
                                          "2",
                                          "--d-model",
                                          "16",
                                          "--context",
                                          "32",
                                          "--batch",
                                          "4",
                                          "--steps",
                                          "8",
                                          "--eval-every",
                                          "4",
                                          "--eval-batches",
                                          "2",
                                          "--sample-every",
                                          "0",
                                          "--corpus-bytes",
                                          "20000"});
  ASSERT_EQ(result.status, 0) << result.err;
  expect_contains(result.out, {"built-in stories", "above the floor of"});
  for (const nlohmann::json& line : json_lines(read_text(folder / "run/metrics.jsonl"))) {
    if (!line.contains("bits_per_byte")) continue;
    EXPECT_GT(line["bits_per_byte"], line["floor_bits_per_byte"]);
  }
}

TEST(Train, EveryModelOptionTrainsAndGenerates) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  const std::vector<std::vector<std::string>> variants = {
      {"--norm", "layer", "--no-norm-bias", "--ffn", "gelu", "--tie-embeddings"},
      {"--norm-position", "post", "--ffn", "relu", "--qkv-bias"},
      {"--norm", "none", "--ffn", "silu", "--position", "none"},
      {"--kv-heads", "1", "--rope-layout", "half_split", "--d-ff", "24", "--tokenizer", "char"},
      {"--tokenizer", "bpe:300", "--schedule", "wsd", "--decay-steps", "4", "--clip", "0"},
  };
  for (const std::vector<std::string>& variant : variants) {
    std::vector<std::string> more = variant;
    more.insert(more.end(), {"--overwrite", "--steps", "6"});
    const ProcessResult trained = run_tapir(tiny_train(data, folder / "run", more));
    ASSERT_EQ(trained.status, 0) << variant[0] << trained.err;
    const ProcessResult generated =
        run_tapir({"generate", folder / "run", "--tokens", "5", "--prompt", "The"});
    EXPECT_EQ(generated.status, 0) << variant[0] << generated.err;
  }
}

}  // namespace
}  // namespace tapir::testing
