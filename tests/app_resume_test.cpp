// What happens to a run when something goes wrong, and how it goes on.
#include <fstream>

#include <gtest/gtest.h>

#include "tests/support/tiny_run.h"

namespace tapir::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> resume(const std::string& run, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"train", "--resume", run};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

std::vector<nlohmann::json> metrics(const std::string& run) {
  return json_lines(read_text(run + "/metrics.jsonl"));
}

class Resume : public ::testing::Test {
 protected:
  std::string train(const std::string& name, const std::vector<std::string>& more) {
    const ProcessResult result = run_tapir(tiny_train(data_, folder_ / name, more));
    EXPECT_EQ(result.status, 0) << result.err;
    return folder_ / name;
  }

  TemporaryFolder folder_;
  std::string data_ = folder_.write("text.txt", small_text());
};

// Which numbers a run computes with.
class ResumeIn : public Resume, public ::testing::WithParamInterface<const char*> {};

TEST_P(ResumeIn, ContinuesAsIfNothingHadHappened) {
  const std::vector<std::string> options = {"--dropout", "0.1",         "--accumulate",
                                            "2",         "--precision", GetParam()};
  const std::string whole = train("whole", options);
  // The first part has the schedule of the whole run, and is stopped by a signal.
  std::vector<std::string> slow = options;
  slow.insert(slow.end(), {"--save-every", "1", "--steps", "12"});
  Process process(TAPIR_PROGRAM, tiny_train(data_, folder_ / "parts", slow));
  ASSERT_TRUE(process.wait_for("step 2/12"));
  process.send(SIGINT);
  const ProcessResult stopped = process.wait();
  const ProcessResult rest = run_tapir(resume(folder_ / "parts"));
  ASSERT_EQ(rest.status, 0) << rest.err << stopped.out;
  EXPECT_EQ(read_text(whole + "/checkpoints/last/model.safetensors"),
            read_text(folder_ / "parts/checkpoints/last/model.safetensors"));
  EXPECT_EQ(read_text(whole + "/checkpoints/last/optimizer.safetensors"),
            read_text(folder_ / "parts/checkpoints/last/optimizer.safetensors"));
  const auto first = metrics(whole), second = metrics(folder_ / "parts");
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i]["loss"], second[i]["loss"]) << i;
}

INSTANTIATE_TEST_SUITE_P(Precisions, ResumeIn, ::testing::Values("f32", "bf16"),
                         [](const auto& one) { return std::string(one.param); });

TEST_F(Resume, ASignalSavesAndSaysHowToContinue) {
  Process process(TAPIR_PROGRAM, tiny_train(data_, folder_ / "run", {"--steps", "1000000"}));
  ASSERT_TRUE(process.wait_for("step 1/1000000"));
  process.send(SIGINT);
  const ProcessResult result = process.wait();
  EXPECT_EQ(result.status, 130) << result.err;
  expect_contains(result.out, {"saved step", "tapir train --resume " + (folder_ / "run")});
  EXPECT_TRUE(fs::exists(folder_ / "run/checkpoints/last/state.json"));
  // More steps may be asked for, or fewer.
  const auto done = metrics(folder_ / "run").size();
  const ProcessResult more =
      run_tapir(resume(folder_ / "run", {"--steps", std::to_string(done + 3)}));
  EXPECT_EQ(more.status, 0) << more.err;
  EXPECT_EQ(metrics(folder_ / "run").size(), done + 3);
}

TEST_F(Resume, ASecondSignalStopsAtOnce) {
  // A step that takes long enough to be interrupted in its middle.
  Process process(TAPIR_PROGRAM,
                  tiny_train(data_, folder_ / "run",
                             {"--steps", "1000000", "--accumulate", "200", "--eval-every", "0"}));
  ASSERT_TRUE(process.wait_for("step 1/1000000"));
  process.send(SIGTERM);
  process.send(SIGINT);
  const int status = process.wait().status;
  EXPECT_TRUE(status == 130 || status == 143) << status;
}

TEST_F(Resume, AKilledRunResumesFromItsLastCheckpoint) {
  Process process(TAPIR_PROGRAM,
                  tiny_train(data_, folder_ / "run", {"--steps", "1000000", "--save-every", "2"}));
  ASSERT_TRUE(process.wait_for("step 6:"));
  process.send(SIGKILL);
  process.wait();
  const ProcessResult result =
      run_tapir(resume(folder_ / "run", {"--steps", "1000000", "--dry-run"}));
  ASSERT_EQ(result.status, 0) << result.err;
  expect_contains(result.out, {"resuming", "from step"});
}

TEST_F(Resume, PassesOverADamagedCheckpoint) {
  const std::string run = train("run", {"--save-every", "4", "--eval-every", "0"});
  fs::resize_file(run + "/checkpoints/step-12/model.safetensors", 1000);
  const ProcessResult result = run_tapir(resume(run));
  ASSERT_EQ(result.status, 0) << result.err;
  expect_contains(result.err, {"passing over step 12", "model.safetensors has 1000 bytes"});
  expect_contains(result.out, {"from step 8"});
  // One flipped bit is found as well.
  const std::string weights = run + "/checkpoints/step-12/model.safetensors";
  std::string bytes = read_text(weights);
  bytes[bytes.size() / 2] ^= 1;
  std::ofstream(weights, std::ios::binary) << bytes;
  expect_contains(run_tapir(resume(run)).err, {"passing over step 12", "checksum"});
  for (const char* step : {"4", "8", "12"}) {
    fs::remove(run + "/checkpoints/step-" + step + "/state.json");
  }
  expect_failure(run_tapir(resume(run)), 1, {"no intact checkpoint", "state.json"});
}

// As scp, cp -L and archives of other systems leave it: with folders for links.
TEST_F(Resume, TakesACopyWithoutLinks) {
  const std::string run = train("run", {"--save-every", "4"}), copy = folder_ / "copy";
  fs::copy(run, copy, fs::copy_options::recursive);
  ASSERT_FALSE(fs::is_symlink(copy + "/checkpoints/last"));
  const ProcessResult result = run_tapir(resume(copy, {"--steps", "18"}));
  ASSERT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(fs::read_symlink(copy + "/checkpoints/last"), "step-18");
  EXPECT_TRUE(fs::is_symlink(copy + "/checkpoints/best"));
}

TEST_F(Resume, KeepsTheModelAndItsTokens) {
  const std::string run = train("run", {});
  expect_failure(run_tapir(resume(run, {"--layers", "2"})), 1,
                 {"--layers cannot change", "its checkpoint has 1"});
  expect_failure(run_tapir(resume(run, {"--tokenizer", "char"})), 1, {"--tokenizer cannot change"});
  expect_failure(run_tapir(resume(run, {"--preset", "cpu-tiny"})), 1, {"--preset", "--resume"});
  expect_failure(run_tapir(resume(folder_ / "none")), 1, {"there is no run in", "none"});
  expect_failure(run_tapir({"train", "--resume"}), 1, {"--resume FOLDER"});
  folder_.write("text.txt", small_text() + small_text());
  const ProcessResult result = run_tapir(resume(run, {"--steps", "14"}));
  EXPECT_EQ(result.status, 0) << result.err;
  expect_contains(result.err, {"note: the training text has"});
}

TEST_F(Resume, AFolderHoldsOneRun) {
  const std::string run = train("run", {});
  const std::string before = read_text(run + "/metrics.jsonl");
  expect_failure(run_tapir(tiny_train(data_, run)), 1,
                 {"holds another run", "--resume", "--overwrite"});
  EXPECT_EQ(read_text(run + "/metrics.jsonl"), before);
  EXPECT_EQ(run_tapir(tiny_train(data_, run, {"--overwrite", "--steps", "3"})).status, 0);
  EXPECT_EQ(metrics(run).size(), 3u);
  EXPECT_FALSE(fs::exists(run + "/checkpoints/step-12"));
  EXPECT_FALSE(fs::exists(run + "/.replaced"));
}

// Until then it is only put aside, and comes back if the new one fails or is killed.
TEST_F(Resume, AReplacedRunIsThereUntilTheNewOneIsSaved) {
  const std::string run = train("run", {}), weights = run + "/checkpoints/last/model.safetensors";
  const std::string before = read_text(weights), measured = read_text(run + "/metrics.jsonl");
  const auto expect_old_run = [&] {
    EXPECT_EQ(read_text(weights), before);
    EXPECT_EQ(read_text(run + "/metrics.jsonl"), measured);
    EXPECT_FALSE(fs::exists(run + "/.replaced"));
  };
  const std::vector<std::string> rarely = {"--overwrite", "--steps",      "1000000", "--save-every",
                                           "0",           "--eval-every", "0"};
  std::vector<std::string> failing = rarely;
  failing.insert(failing.end(),
                 {"--lr", "100000", "--warmup", "0", "--clip", "0", "--norm", "none"});
  expect_failure(run_tapir(tiny_train(data_, run, failing)), 1,
                 {"is not finite", "no checkpoint yet", "to be replaced is back"});
  expect_old_run();
  Process process(TAPIR_PROGRAM, tiny_train(data_, run, rarely));
  ASSERT_TRUE(process.wait_for("step 1/1000000"));
  process.send(SIGKILL);
  process.wait();
  const ProcessResult next = run_tapir(resume(run, {"--dry-run"}));
  EXPECT_EQ(next.status, 0) << next.err;
  expect_contains(next.out, {"from step 12"});
  expect_old_run();
}

TEST_F(Resume, SaysWhatItWillNotDo) {
  const std::string run = train("run", {});
  const ProcessResult done = run_tapir(resume(run));
  EXPECT_EQ(done.status, 0) << done.err;
  expect_contains(done.err, {"note: step 12 of 12 is done", "--steps"});
  std::ofstream(run + "/config.toml", std::ios::app) << "# mine\n";
  const ProcessResult edited = run_tapir(resume(run, {"--dry-run"}));
  EXPECT_EQ(edited.status, 0) << edited.err;
  expect_contains(edited.err, {"config.toml differs", "with flags"});
}

TEST_F(Resume, ASecondTrainingInTheFolderIsRefused) {
  Process first(TAPIR_PROGRAM, tiny_train(data_, folder_ / "run", {"--steps", "1000000"}));
  ASSERT_TRUE(first.wait_for("step 1/1000000"));
  for (const char* how : {"--overwrite", "--resume"}) {
    std::vector<std::string> arguments = {"train", "--out", folder_ / "run", "--data", data_, how};
    expect_failure(run_tapir(arguments), 1, {"another training is using"});
  }
  first.send(SIGTERM);
  EXPECT_EQ(first.wait().status, 143);
}

TEST_F(Resume, ALossThatIsNotFiniteStopsAndKeepsTheLastCheckpoint) {
  const ProcessResult result =
      run_tapir(tiny_train(data_, folder_ / "run",
                           {"--lr", "100000", "--warmup", "0", "--clip", "0", "--steps", "200",
                            "--norm", "none", "--save-every", "1", "--eval-every", "0"}));
  expect_failure(result, 1, {"is not finite", "--lr", "the checkpoint of step", "is kept"});
  EXPECT_TRUE(fs::exists(folder_ / "run/checkpoints/last/model.safetensors"));
}

// A limit on the size of files stands in for a full disk: both fail in the same calls.
TEST_F(Resume, ADiskWithoutRoomIsAnErrorAndKeepsWhatIsThere) {
  const std::string run = train("run", {});
  const std::string before = read_text(run + "/checkpoints/last/model.safetensors");
  ProcessOptions options;
  options.in_child = [] {
    const rlimit limit{8192, 8192};
    setrlimit(RLIMIT_FSIZE, &limit);
  };
  const ProcessResult result = run_tapir(resume(run, {"--steps", "14"}), options);
  expect_failure(result, 1,
                 {"cannot write", "File too large", "the checkpoint of step 12 is kept"});
  EXPECT_EQ(read_text(run + "/checkpoints/last/model.safetensors"), before);
  EXPECT_EQ(run_tapir(resume(run, {"--steps", "14"})).status, 0);
}

TEST_F(Resume, ClosedOutputDoesNotStopTraining) {
  Process process(TAPIR_PROGRAM, tiny_train(data_, folder_ / "run"));
  process.close_output();
  EXPECT_EQ(process.wait().status, 0);
  EXPECT_EQ(metrics(folder_ / "run").size(), 12u);
}

// As in a log on a full disk, or on a terminal that was closed.
TEST_F(Resume, OutputThatCannotBeWrittenDoesNotStopTraining) {
  ProcessOptions options;
  options.in_child = [] { dup2(open("/dev/full", O_WRONLY), STDOUT_FILENO); };
  const ProcessResult result = run_tapir(tiny_train(data_, folder_ / "run"), options);
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err,
            "tapir: warning: standard output cannot be written: No space left on device\n");
  EXPECT_EQ(metrics(folder_ / "run").size(), 12u);
}

// The files of the run must not take their numbers, or messages would be written into them.
TEST_F(Resume, ClosedDescriptorsStayOutOfTheRun) {
  ProcessOptions options;
  options.in_child = [] {
    for (const int descriptor : {0, 1, 2}) close(descriptor);
  };
  EXPECT_EQ(run_tapir(tiny_train(data_, folder_ / "run", {"--sample-every", "6"}), options).status,
            0);
  EXPECT_EQ(read_text(folder_ / "run/run.lock"), "");
  EXPECT_EQ(metrics(folder_ / "run").size(), 12u);
}

}  // namespace
}  // namespace tapir::testing
