// A run that is killed or whose disk is full comes to the same end as one that is not.
#include <array>

#include <gtest/gtest.h>
#include <sys/mount.h>

#include "tests/support/tiny_run.h"

namespace tapir::testing {
namespace {

namespace fs = std::filesystem;

#ifdef TAPIR_SANITIZED
constexpr bool kSlow =
    true;  // every start takes a good part of a second under the address sanitizer
#else
constexpr bool kSlow = false;
#endif

std::vector<std::string> resume(const std::string& run, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments = {"train", "--resume", run};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

// What must be equal, bit for bit: measurements without times.
std::string measurements(const std::string& run) {
  std::string text;
  for (nlohmann::json line : json_lines(read_text(run + "/metrics.jsonl"))) {
    line.erase("seconds");
    line.erase("tokens_per_s");
    text += line.dump() + "\n";
  }
  return text;
}

nlohmann::json state(const std::string& run, const std::string& checkpoint = "last") {
  return nlohmann::json::parse(read_text(run + "/checkpoints/" + checkpoint + "/state.json"));
}

void expect_same_run(const std::string& a, const std::string& b) {
  for (const char* checkpoint : {"last", "best"}) {
    const std::string folder = std::string("/checkpoints/") + checkpoint;
    EXPECT_EQ(fs::read_symlink(a + folder), fs::read_symlink(b + folder));
    for (const char* file : {"/model.safetensors", "/optimizer.safetensors", "/tokenizer.json"}) {
      EXPECT_TRUE(read_text(a + folder + file) == read_text(b + folder + file)) << folder << file;
    }
    nlohmann::json first = state(a, checkpoint), second = state(b, checkpoint);
    for (nlohmann::json* each : {&first, &second}) {
      (*each)["training"].erase("seconds");
      each->erase("state_checksum");
    }
    EXPECT_EQ(first, second);
  }
  EXPECT_EQ(measurements(a), measurements(b));
}

class Crash : public ::testing::Test {
 protected:
  // A file of some 3000 tokens to train on, which are 192 windows of 16.
  Crash() {
    const ProcessResult encoded =
        run_tapir({"tokenizer", "encode", "byte", "--data", folder_.write("text.txt", small_text()),
                   "--out", data_});
    EXPECT_EQ(encoded.status, 0) << encoded.err;
  }
  std::vector<std::string> command(const std::string& run,
                                   const std::vector<std::string>& more) const {
    return tiny_train(data_, folder_ / run, more);
  }

  TemporaryFolder folder_;
  std::string data_ = folder_ / "text.tok";
};

// Which numbers a run computes with.
class CrashIn : public Crash, public ::testing::WithParamInterface<const char*> {};

TEST_P(CrashIn, AHundredStepsAreFiftyAKillAndFifty) {
  const std::vector<std::string> options = {
      "--steps",      "100", "--save-every", "50", "--accumulate", "2", "--dropout",   "0.1",
      "--eval-every", "20",  "--keep",       "9",  "--log-every",  "1", "--precision", GetParam()};
  ASSERT_EQ(run_tapir(command("whole", options)).status, 0);
  Process process(TAPIR_PROGRAM, command("parts", options));
  ASSERT_TRUE(process.wait_for("step 51/100"));
  process.send(SIGKILL);
  EXPECT_EQ(process.wait().status, 128 + SIGKILL);
  const ProcessResult rest = run_tapir(resume(folder_ / "parts"));
  ASSERT_EQ(rest.status, 0) << rest.err;
  // The data was in the middle of an epoch.
  expect_contains(rest.out, {"resuming from step", "the newest checkpoint, every file as it was",
                             "epoch 3, 16 of its 192 windows done"});
  expect_same_run(folder_ / "whole", folder_ / "parts");
}

INSTANTIATE_TEST_SUITE_P(Precisions, CrashIn, ::testing::Values("f32", "bf16"),
                         [](const auto& one) { return std::string(one.param); });

// Killed at any moment, inside a save too, a run comes to the same end.
TEST_F(Crash, KilledAtAHundredRandomMomentsItEndsTheSame) {
  const std::vector<std::string> options = {"--steps",      "60", "--save-every", "1",
                                            "--accumulate", "2",  "--dropout",    "0.1",
                                            "--eval-every", "7",  "--keep",       "1"};
  ASSERT_EQ(run_tapir(command("whole", options)).status, 0);
  const int wanted = kSlow ? 12 : 100;
  unsigned random = 12345;
  int kills = 0, inside_saves = 0, runs = 0;
  for (; kills < wanted; ++runs) {
    const std::string name = "parts" + std::to_string(runs), run = folder_ / name;
    bool done = false;
    while (!done) {
      std::vector<std::string> start = command(name, options);
      start.push_back("--overwrite");  // of a run that did not come to its first checkpoint
      const bool begun = fs::exists(run + "/checkpoints/last");
      Process process(TAPIR_PROGRAM, begun ? resume(run) : start);
      random = random * 1103515245 + 12345;
      if (kills < wanted) {
        // Every other time counted from where training begins, however slow the start is.
        if (kills % 2 == 1) process.wait_for("device ");
        usleep(random / 65536 * (kSlow ? 8 : 2));
        process.send(SIGKILL);
      }
      const ProcessResult result = process.wait();
      done = result.status == 0;
      if (result.status == 128 + SIGKILL) ++kills;
      ASSERT_TRUE(done || result.status == 128 + SIGKILL) << result.err;
      std::error_code none;
      for (const auto& entry : fs::directory_iterator(run + "/checkpoints", none)) {
        if (!done && entry.path().extension() == ".new") ++inside_saves;
      }
    }
    expect_same_run(folder_ / "whole", run);
  }
  // A few kills may miss every save; a hundred do not.
  EXPECT_TRUE(kSlow || inside_saves > 0);
  RecordProperty("kills", kills);
  RecordProperty("inside_saves", inside_saves);
  RecordProperty("runs", runs);
}

TEST_F(Crash, LinksAndLeftoversOfAnInterruptedSaveAreRepaired) {
  const std::string run = folder_ / "run", checkpoints = run + "/checkpoints";
  ASSERT_EQ(run_tapir(command("run", {"--save-every", "4", "--keep", "9"})).status, 0);
  const fs::path best = fs::read_symlink(checkpoints + "/best");
  for (const char* link : {"/best", "/last"}) {
    fs::remove(checkpoints + link);
    fs::create_symlink("step-4", checkpoints + link);
  }
  folder_.write("run/checkpoints/.step-13.new/model.safetensors", "half");
  std::ofstream(run + "/metrics.jsonl", std::ios::app) << "{\"step\": 13, \"lo\n{\"step\": 14";
  ASSERT_EQ(run_tapir(resume(run, {"--steps", "13", "--eval-every", "0"})).status, 0);
  EXPECT_EQ(fs::read_symlink(checkpoints + "/best"), best);
  EXPECT_EQ(fs::read_symlink(checkpoints + "/last"), "step-13");
  EXPECT_FALSE(fs::exists(checkpoints + "/.step-13.new"));
  EXPECT_EQ(json_lines(read_text(run + "/metrics.jsonl")).size(), 13u);
}

TEST_F(Crash, AChangedStateIsPassedOver) {
  const std::string run = folder_ / "run", file = run + "/checkpoints/step-12/state.json";
  ASSERT_EQ(run_tapir(command("run", {"--save-every", "6", "--eval-every", "0"})).status, 0);
  std::string text = read_text(file);
  text.replace(text.find("\"data_windows\": 48"), 18, "\"data_windows\": 44");
  std::ofstream(file, std::ios::binary) << text;
  const ProcessResult result = run_tapir(resume(run, {"--dry-run"}));
  ASSERT_EQ(result.status, 0) << result.err;
  expect_contains(result.err, {"passing over step 12", "state.json has changed"});
  expect_contains(result.out, {"resuming from step 6", "the newest checkpoint that is intact"});
}

TEST_F(Crash, OtherTextOfTheSameLengthIsNoted) {
  std::string text = small_text();
  const std::string data = folder_.write("a.txt", text);
  ASSERT_EQ(run_tapir(tiny_train(data, folder_ / "run")).status, 0);
  text[5] = text[5] == 'x' ? 'y' : 'x';
  folder_.write("a.txt", text);
  const ProcessResult result = run_tapir(resume(folder_ / "run", {"--steps", "14"}));
  EXPECT_EQ(result.status, 0) << result.err;
  expect_contains(result.err, {"note: the training text has changed"});
}

// Files of the process may not grow beyond this: writes fail in the calls in which they fail on a
// full disk.
void limit_files(pid_t process, rlim_t bytes) {
  const rlimit limit{bytes, RLIM_INFINITY};
  ASSERT_EQ(prlimit(process, RLIMIT_FSIZE, &limit, nullptr), 0);
}

TEST_F(Crash, TrainingGoesOnWhileNothingCanBeSaved) {
  const std::string run = folder_ / "run";
  Process process(TAPIR_PROGRAM, command("run", {"--steps", "1000000", "--save-every", "1",
                                                 "--eval-every", "0", "--log-every", "1"}));
  ASSERT_TRUE(process.wait_for("step 3/"));
  limit_files(process.pid(), 300);
  ASSERT_TRUE(process.wait_for("was not saved: ", true));
  ASSERT_TRUE(process.wait_for("measurements wait", true));
  // What was saved before is whole.
  const ProcessResult model = run_tapir({"generate", run, "--tokens", "1"});
  EXPECT_EQ(model.status, 0) << model.err;
  const int64_t during = state(run)["training"]["step"];
  limit_files(process.pid(), RLIM_INFINITY);
  while (state(run)["training"]["step"].get<int64_t>() <= during) usleep(1000);
  process.send(SIGINT);
  const ProcessResult result = process.wait();
  EXPECT_EQ(result.status, 130) << result.err;
  // Nothing that could not be written at its time is missing.
  const auto lines = json_lines(read_text(run + "/metrics.jsonl"));
  EXPECT_EQ(static_cast<int64_t>(lines.size()), state(run)["training"]["step"].get<int64_t>());
  for (size_t i = 0; i < lines.size(); ++i) EXPECT_EQ(lines[i]["step"], i + 1);
}

TEST_F(Crash, TrainingStopsIfAskedTo) {
  Process process(TAPIR_PROGRAM,
                  command("run", {"--steps", "1000000", "--save-every", "1", "--eval-every", "0",
                                  "--log-every", "1", "--on-save-error", "stop"}));
  ASSERT_TRUE(process.wait_for("step 3/"));
  limit_files(process.pid(), 300);
  expect_failure(process.wait(), 1, {"File too large", "the checkpoint of step", "is kept in"});
  EXPECT_EQ(run_tapir({"generate", folder_ / "run", "--tokens", "1"}).status, 0);
  expect_failure(run_tapir(command("other", {"--on-save-error", "ignore"})), 1,
                 {"--on-save-error", "ignore", "continue"});
}

// A small file system of its own, removed at the end.
class SmallDisk {
 public:
  SmallDisk(std::string path, const char* options) : path_(std::move(path)) {
    fs::create_directories(path_);
    mounted_ = mount("tmpfs", path_.c_str(), "tmpfs", 0, options) == 0;
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool mounted() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_;
};

TEST_F(Crash, AFullDiskKeepsTheLastCheckpoint) {
  const SmallDisk disk(folder_ / "disk", "size=800k");
  if (!disk.mounted()) GTEST_SKIP() << "only root may mount a file system";
  const std::string run = folder_ / "disk/run";
  ASSERT_EQ(run_tapir(command("disk/run", {})).status, 0);
  const std::string before = read_text(run + "/checkpoints/last/model.safetensors");
  {
    std::ofstream ballast(folder_ / "disk/ballast", std::ios::binary);
    const std::string block(4096, 'x');
    while (ballast.write(block.data(), 4096).flush()) {
    }
  }
  // Room for the measurements, not for a checkpoint.
  fs::resize_file(folder_ / "disk/ballast", fs::file_size(folder_ / "disk/ballast") - 32768);
  const ProcessResult result = run_tapir(resume(run, {"--steps", "20"}));
  expect_failure(result, 1, {"No space left", "the checkpoint of step 12 is kept"});
  EXPECT_EQ(read_text(run + "/checkpoints/last/model.safetensors"), before);
  for (const auto& entry : fs::directory_iterator(run + "/checkpoints")) {
    EXPECT_NE(entry.path().extension(), ".new") << "fills the disk";
  }
  fs::remove(folder_ / "disk/ballast");
  const ProcessResult again = run_tapir(resume(run, {"--steps", "20"}));
  EXPECT_EQ(again.status, 0) << again.err;
  expect_contains(again.out, {"resuming from step 12"});
}

}  // namespace
}  // namespace tapir::testing
