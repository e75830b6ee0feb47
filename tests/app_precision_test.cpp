// The processor's instructions and the precision of products, as a user chooses them.
#include <algorithm>
#include <cstdlib>

#include <gtest/gtest.h>

#include "backends/cpu/cpu_features.h"
#include "tests/support/tiny_run.h"

namespace tapir::testing {
namespace {

ProcessOptions with_instructions(const char* name) {
  ProcessOptions options;
  options.in_child = [name] { setenv("TAPIR_CPU", name, 1); };
  return options;
}

TEST(Instructions, TheEnvironmentChoosesLess) {
  for (const cpu::Isa isa : {cpu::Isa::avx2, cpu::Isa::avx512, cpu::Isa::amx}) {
    const std::string name(cpu::name_of(isa));
    const ProcessResult result = run_tapir({"info"}, with_instructions(name.c_str()));
    if (isa > cpu::best_of(cpu::features()) || isa > cpu::best_built()) {
      expect_failure(result, 1, {"TAPIR_CPU: ", "or unset it"});
      continue;
    }
    ASSERT_EQ(result.status, 0) << result.err;
    expect_contains(result.out, {name + " kernels (by TAPIR_CPU)", "the build has AVX2"});
    expect_contains(result.out, {isa == cpu::Isa::amx ? "use AMX" : "the others need AMX"});
  }
}

TEST(Instructions, AnUnknownNameIsRefused) {
  expect_failure(run_tapir({"info"}, with_instructions("sse9")), 1,
                 {"TAPIR_CPU: there is no 'sse9'", "avx2, avx512, amx"});
}

TEST(MatmulPrecision, IsRecordedInTheRun) {
  TemporaryFolder folder;
  const std::string data = folder.write("text.txt", small_text());
  const ProcessResult result = run_tapir(
      tiny_train(data, folder / "run", {"--matmul-precision", "high"}), with_instructions("avx2"));
  ASSERT_EQ(result.status, 0) << result.err;
  expect_contains(read_text(folder / "run/config.toml"), {"matmul-precision = \"high\""});
  expect_contains(result.err, {"--matmul-precision high computes in f32 here", "avx2"});
  expect_failure(run_tapir(tiny_train(data, folder / "no", {"--matmul-precision", "double"})), 1,
                 {"--matmul-precision", "'double'", "highest"});
}

TEST(MatmulPrecision, OfGenerationAndEvaluation) {
  const TinyRun tiny;
  for (const char* command : {"generate", "eval"}) {
    const ProcessResult result = run_tapir({command, tiny / "run", "--matmul-precision", "medium"},
                                           with_instructions("avx2"));
    EXPECT_EQ(result.status, 0) << result.err;
    expect_contains(result.err, {"--matmul-precision medium computes in f32 here"});
  }
}

// What `tapir info` says of it, and the sizes of its files.
class InBf16 : public ::testing::Test {
 protected:
  std::string train(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"--precision", "bf16"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = run_tapir(tiny_train(data_, folder_ / name, arguments));
    EXPECT_EQ(result.status, 0) << result.err;
    output_ = result.out;
    return folder_ / name;
  }
  std::string resume(const std::string& run, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"train", "--resume", run};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProcessResult result = run_tapir(arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    return result.err;
  }
  static std::string file(const std::string& run, const std::string& name) {
    return read_text(run + "/checkpoints/last/" + name);
  }

  TemporaryFolder folder_;
  std::string data_ = folder_.write("text.txt", small_text());
  std::string output_;
};

TEST_F(InBf16, ARunSaysSoAndIsHalfTheSize) {
  const std::string run = train("run"), other = folder_ / "f32";
  expect_contains(output_, {"precision bf16, with weights and moments of the optimizer in f32"});
  expect_contains(read_text(run + "/config.toml"), {"precision = \"bf16\""});
  expect_contains(run_tapir({"info", run}).out, {"precision", "bf16", "as bf16)"});
  ASSERT_EQ(run_tapir(tiny_train(data_, other)).status, 0);
  expect_contains(run_tapir({"info", other}).out, {"precision        f32", "as f32)"});
  expect_contains(file(run, "model.safetensors"), {"\"dtype\":\"BF16\""});
  expect_contains(file(run, "optimizer.safetensors"), {"\"optim.master.ln_final.weight\""});
  EXPECT_LT(file(run, "model.safetensors").size(), 0.6 * file(other, "model.safetensors").size());
}

TEST_F(InBf16, LearnsWhatF32Learns) {
  const std::string run = train("run"), other = folder_ / "f32";
  ASSERT_EQ(run_tapir(tiny_train(data_, other)).status, 0);
  const auto bf16 = json_lines(read_text(run + "/metrics.jsonl"));
  const auto f32 = json_lines(read_text(other + "/metrics.jsonl"));
  // The losses are means over 64 tokens of logits whose roundings, of up to 2^-8 of the largest,
  // have no direction.
  for (size_t i = 0; i < f32.size(); ++i)
    EXPECT_NEAR(bf16[i]["loss"].get<double>(), f32[i]["loss"].get<double>(), 0.02) << i;
}

TEST_F(InBf16, EveryCommandOpensTheRun) {
  const std::string run = train("run");
  const auto lines = json_lines(read_text(run + "/metrics.jsonl"));
  // 2 batches are what validation during training had.
  const ProcessResult evaluated =
      run_tapir({"eval", run, "--checkpoint", "last", "--batches", "2", "--threads", "1"});
  EXPECT_EQ(evaluated.status, 0) << evaluated.err;
  expect_contains(evaluated.out, {fmt::format("loss           {:.4f} nats/token",
                                              lines.back()["val_loss"].get<double>())});
  const std::vector<std::vector<std::string>> commands = {
      {"eval", run, "--data", data_},
      {"eval", run, "--weights", "bf16"},
      {"generate", run, "--tokens", "5", "--prompt", "The"},
      {"generate", run, "--tokens", "5", "--weights", "bf16"},
      {"inspect", run, "--prompt", "The cat"},
      {"export", run, "--format", "hf", "--out", folder_ / "hf", "--dtype", "f16"},
      {"report", run, "--out", folder_ / "report.html"},
  };
  for (const std::vector<std::string>& command : commands) {
    const ProcessResult result = run_tapir(command);
    EXPECT_EQ(result.status, 0) << command[0] << ": " << result.err;
  }
}

TEST_F(InBf16, AutoChoosesOnceAndKeepsTheChoice) {
  for (const cpu::Isa isa : {cpu::Isa::avx2, cpu::Isa::amx}) {
    if (isa > cpu::best_of(cpu::features()) || isa > cpu::best_built()) continue;
    const bool amx = isa == cpu::Isa::amx;
    const std::string run = folder_ / std::string(cpu::name_of(isa));
    const ProcessResult result =
        run_tapir(tiny_train(data_, run, {"--precision", "auto", "--device", "cpu"}),
                  with_instructions(amx ? "amx" : "avx2"));
    ASSERT_EQ(result.status, 0) << result.err;
    const std::string chosen = amx ? "bf16" : "f32";
    expect_contains(result.out, {"precision " + chosen, "(auto: bf16 is"});
    expect_contains(read_text(run + "/config.toml"), {"precision = \"" + chosen + "\""});
    // A machine that would choose otherwise goes on as the run began.
    const bool other_exists =
        amx || std::min(cpu::best_of(cpu::features()), cpu::best_built()) == cpu::Isa::amx;
    if (!other_exists) continue;
    const ProcessResult more = run_tapir({"train", "--resume", run, "--steps", "13"},
                                         with_instructions(amx ? "avx2" : "amx"));
    EXPECT_EQ(more.status, 0) << more.err;
    expect_contains(more.out, {"precision " + chosen});
  }
}

// With a learning rate of nothing, going on in the other precision and back changes no bit of the
// weights: f32 weights wait in the masters.
TEST_F(InBf16, ARunMayGoOnInTheOtherPrecision) {
  const std::string run = folder_ / "run";
  ASSERT_EQ(run_tapir(tiny_train(data_, run)).status, 0);
  const std::string weights = file(run, "model.safetensors");
  const std::vector<std::string> still = {"--lr", "0", "--min-lr", "0", "--steps"};
  const auto with = [&](const char* steps, const char* precision) {
    std::vector<std::string> more = still;
    more.insert(more.end(), {steps, "--precision", precision});
    return more;
  };
  expect_contains(resume(run, with("13", "bf16")), {"note: the run goes on in bf16", "as in f32"});
  EXPECT_NE(file(run, "model.safetensors"), weights);
  expect_contains(resume(run, with("14", "f32")), {"note: the run goes on in f32"});
  EXPECT_EQ(file(run, "model.safetensors"), weights);
  expect_contains(read_text(run + "/config.toml"), {"precision = \"f32\""});
}

TEST_F(InBf16, AnUnknownPrecisionIsRefused) {
  expect_failure(run_tapir(tiny_train(data_, folder_ / "no", {"--precision", "f16"})), 1,
                 {"--precision", "'f16'", "f32, bf16, auto"});
}

}  // namespace
}  // namespace tapir::testing
