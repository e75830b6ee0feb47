// `tapir inspect`, `tapir report` and --profile as a user runs them.
#include <set>

#include <gtest/gtest.h>

#include "tests/support/tiny_run.h"

namespace tapir::testing {
namespace {

const TinyRun& tiny() {
  static const TinyRun run;
  return run;
}

TEST(InspectCommand, ShowsARunAndWritesFiles) {
  const std::string page = tiny() / "inspect.html", dot = tiny() / "inspect.dot";
  const ProcessResult result = run_tapir({"inspect", tiny().run, "--prompt", "The <b>cat", "--html",
                                          page, "--dot", dot, "--composed"});
  ASSERT_EQ(result.status, 0) << result.err;
  expect_contains(result.out, {"node", "operation", "layers.0.attn.q_proj", "linear", "forward us",
                               "peak memory", "kept by", "composed"});
  const std::string html = read_text(page);
  expect_contains(html, {"<!DOCTYPE html>", "id=\"data\"", "\"\\u003c\""});
  EXPECT_EQ(html.find("<b>cat"), std::string::npos);
  expect_contains(read_text(dot), {"digraph"});
}

TEST(InspectCommand, KnowsLayersPresetsAndOperations) {
  for (const char* name : {"RMSNorm", "attention", "softmax", "TransformerBlock"}) {
    const ProcessResult result =
        run_tapir({"inspect", name, "--d-model", "8", "--heads", "2", "--time", "3"});
    EXPECT_EQ(result.status, 0) << name << result.err;
    expect_contains(result.out, {"nodes", "saved for the backward pass"});
  }
}

// Byte vocabulary of 257; the preset has 4 layers of width 128.
TEST(InspectCommand, FlagsChangeAPreset) {
  const ProcessResult preset = run_tapir({"inspect", "cpu-tiny", "--prompt", "It"});
  ASSERT_EQ(preset.status, 0) << preset.err;
  expect_contains(preset.out, {"4 layers, 4 heads, width 128"});
  const ProcessResult changed =
      run_tapir({"inspect", "cpu-tiny", "--prompt", "It", "--layers", "2", "--heads", "8"});
  ASSERT_EQ(changed.status, 0) << changed.err;
  expect_contains(changed.out, {"2 layers, 8 heads, width 128"});
  EXPECT_EQ(changed.out.find("layers.2"), std::string::npos);
}

TEST(InspectCommand, ExplainsMistakes) {
  expect_failure(run_tapir({"inspect", tiny().run, "--layers", "2"}), 1,
                 {"--layers does not go with the run"});
  expect_failure(run_tapir({"inspect", "cpu-tiny", "--heads", "3"}), 1,
                 {"--d-model 128", "--heads 3"});
  expect_failure(run_tapir({"inspect", "RMSNorn"}), 1, {"RMSNorn", "RMSNorm"});
  expect_failure(run_tapir({"inspect", "Linear", "--composed", "--dtype", "bf16"}), 1,
                 {"--composed", "bf16"});
  expect_failure(run_tapir({"inspect", "Linear", "--html", tiny() / "no/folder.html"}), 1,
                 {"no/folder.html"});
  expect_failure(run_tapir({"inspect", tiny().folder().path().string()}), 1, {"checkpoint"});
}

// Spans of one track never overlap without one being inside the other.
void expect_nested(const nlohmann::json& events, int track) {
  std::vector<std::pair<double, double>> spans;
  for (const nlohmann::json& event : events) {
    if (event["ph"] != "X" || event["tid"] != track) continue;
    const double begin = event["ts"], length = event["dur"];
    EXPECT_GE(begin, 0);
    EXPECT_GE(length, 0);
    spans.emplace_back(begin, -(begin + length));
  }
  ASSERT_FALSE(spans.empty()) << "track " << track;
  std::sort(spans.begin(), spans.end());
  std::vector<double> open;
  for (const auto& span : spans) {
    while (!open.empty() && open.back() <= span.first) open.pop_back();
    const double end = -span.second;
    const double around = open.empty() ? end : open.back();
    EXPECT_LE(end, around + 1e-3) << "track " << track;
    open.push_back(end);
  }
}

void expect_trace(const std::string& path, const std::set<std::string>& names) {
  const nlohmann::json trace = nlohmann::json::parse(read_text(path));
  const nlohmann::json& events = trace["traceEvents"];
  for (const int track : {1, 2, 3}) expect_nested(events, track);
  std::set<std::string> missing = names;
  for (const nlohmann::json& event : events) missing.erase(event["name"]);
  EXPECT_TRUE(missing.empty()) << "no span called " << *missing.begin();
}

TEST(Profile, TracesTrainingAndGeneration) {
  const TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text()), trace = folder / "trace.json";
  const ProcessResult train =
      run_tapir(tiny_train(data, folder / "run", {"--profile", trace, "--steps", "3"}));
  ASSERT_EQ(train.status, 0) << train.err;
  expect_contains(train.err, {"operation", "kernel", "matmul", "GFLOP/s", "wrote"});
  expect_trace(trace, {"layers", "layers.0.attn.q_proj", "linear", "linear backward", "matmul",
                       "adamw", "attention_backward"});
  const ProcessResult generate = run_tapir(
      {"generate", folder / "run", "--tokens", "4", "--profile", folder / "generate.json"});
  ASSERT_EQ(generate.status, 0) << generate.err;
  expect_trace(folder / "generate.json", {"layers.0.attn", "linear", "matmul", "attention"});
  expect_failure(run_tapir({"generate", folder / "run", "--profile", folder / "no/trace.json"}), 1,
                 {"no/trace.json"});
  // An earlier trace may be replaced, anything else may not.
  EXPECT_EQ(run_tapir({"generate", folder / "run", "--tokens", "1", "--profile", trace}).status, 0);
  const std::string text = read_text(data);
  expect_failure(run_tapir({"generate", folder / "run", "--profile", data}), 1,
                 {"text.txt exists and is something else"});
  EXPECT_EQ(read_text(data), text);
  // What is to be replaced stays until everything is ready.
  expect_failure(run_tapir(tiny_train(data, folder / "run",
                                      {"--overwrite", "--profile", folder / "no/trace.json"})),
                 1, {"no/trace.json"});
  EXPECT_EQ(run_tapir({"generate", folder / "run", "--tokens", "1"}).status, 0);
}

// The page's data, out of its <script>.
nlohmann::json page_data(const std::string& page) {
  const std::string start = "<script type=\"application/json\" id=\"data\">";
  const size_t begin = page.find(start) + start.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

TEST(Report, TrainingWritesOne) {
  const nlohmann::json data = page_data(read_text(tiny() / "run/report.html"));
  ASSERT_EQ(data["runs"].size(), 1u);
  const nlohmann::json& run = data["runs"][0];
  EXPECT_EQ(run["name"], "run");
  EXPECT_EQ(run["training"].size(), 12u);
  EXPECT_EQ(run["validation"].size(), 2u);
  EXPECT_EQ(run["training"][11]["step"], 12);
  EXPECT_GT(run["training"][0]["grad_norm"], 0);
  EXPECT_FALSE(run["machine"]["processor"].get<std::string>().empty());
  bool found = false;
  for (const nlohmann::json& setting : run["config"]) {
    if (setting["name"] == "layers") found = setting["value"] == "1";
  }
  EXPECT_TRUE(found);
}

TEST(Report, OverlaysRunsAndEscapesTheirText) {
  const TemporaryFolder folder;
  const std::string evil = "</script><script>alert(1)</script>\n";
  std::string text;
  for (int i = 0; i < 40; ++i) text += evil;
  const std::string data = folder.write("text.txt", text);
  ASSERT_EQ(
      run_tapir(tiny_train(data, folder / "a",
                           {"--sample-every", "6", "--sample-prompt", "</script><script>alert(2)"}))
          .status,
      0);
  ASSERT_EQ(run_tapir(tiny_train(data, folder / "b", {"--lr", "0.01"})).status, 0);
  const std::string out = folder / "both.html";
  const ProcessResult result = run_tapir({"report", folder / "a", folder / "b/", "--out", out});
  ASSERT_EQ(result.status, 0) << result.err;
  const std::string page = read_text(out);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  const nlohmann::json runs = page_data(page)["runs"];
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[1]["name"], "b");
  EXPECT_EQ(runs[0]["samples"].size(), 2u);
  EXPECT_EQ(runs[0]["samples"][1]["step"], 12);
  EXPECT_EQ(runs[0]["samples"][0]["text"].get<std::string>().find("</script><script>alert(2)"), 0u);
  expect_failure(run_tapir({"report", folder / "none"}), 1, {"metrics.jsonl"});
}

TEST(Report, DoesWithoutWhatSomebodyChanged) {
  const TemporaryFolder folder;
  folder.write("run/metrics.jsonl",
               "{\"step\": 1, \"loss\": 2.5, \"seconds\": null, \"lr\": \"fast\"}\n"
               "{\"step\": 2, \"val_loss\": 2.0, \"floor_bits_per_byte\": \"low\"}\n");
  folder.write("run/machine.json", std::string(100'000, '['));
  const ProcessResult result = run_tapir({"report", folder / "run"});
  ASSERT_EQ(result.status, 0) << result.err;
  const nlohmann::json run = page_data(read_text(folder / "run/report.html"))["runs"][0];
  EXPECT_EQ(run["training"][0]["loss"], 2.5);
  EXPECT_EQ(run["validation"][0]["loss"], 2.0);
  EXPECT_TRUE(run["machine"].is_null());
}

}  // namespace
}  // namespace tapir::testing
