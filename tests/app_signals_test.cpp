// Ctrl-C at any moment: once to finish the step and save, twice to stop at once.
#include <gtest/gtest.h>

#include "tests/support/tiny_run.h"

namespace tapir::testing {
namespace {

namespace fs = std::filesystem;

// Microseconds from 0 to `most`, always the same ones.
class Moments {
 public:
  useconds_t next(unsigned most) {
    state_ = state_ * 1103515245 + 12345;
    return state_ / 65536 % most;
  }

 private:
  unsigned state_ = 2024;
};

class Signals : public ::testing::Test {
 protected:
  std::vector<std::string> endless(const std::string& name) const {
    return tiny_train(data_, folder_ / name, {"--steps", "1000000", "--save-every", "3"});
  }

  // The last checkpoint must be whole: resuming checks every file of it.
  void expect_can_go_on(const std::string& name) const {
    const ProcessResult result = run_tapir({"train", "--resume", folder_ / name, "--dry-run"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err.find("passing over"), std::string::npos) << result.err;
    expect_contains(result.out, {"from step"});
  }

  TemporaryFolder folder_;
  std::string data_ = folder_.write("text.txt", small_text());
  Moments moments_;
};

TEST_F(Signals, OnceFinishesTheStepAndSavesIt) {
  for (int round = 0; round < 6; ++round) {
    const std::string name = "run" + std::to_string(round);
    Process process(TAPIR_PROGRAM, endless(name));
    ASSERT_TRUE(process.wait_for("step 1/1000000"));
    usleep(moments_.next(60'000));
    process.send(round % 2 == 0 ? SIGINT : SIGTERM);
    const ProcessResult result = process.wait();
    EXPECT_EQ(result.status, round % 2 == 0 ? 130 : 143) << result.err;
    expect_contains(result.out, {"saved step", "tapir train --resume " + (folder_ / name)});
    // What was measured last is what was saved.
    const auto steps = json_lines(read_text(folder_ / name + "/metrics.jsonl")).size();
    EXPECT_EQ(fs::read_symlink(folder_ / name + "/checkpoints/last"),
              "step-" + std::to_string(steps));
    expect_can_go_on(name);
  }
}

TEST_F(Signals, TwiceStopsAtOnceAndLosesNothing) {
  for (int round = 0; round < 10; ++round) {
    const std::string name = "run" + std::to_string(round);
    Process process(TAPIR_PROGRAM, endless(name));
    ASSERT_TRUE(process.wait_for("step 6:"));  // validated, and saved at least once
    usleep(moments_.next(30'000));
    process.send(SIGINT);
    usleep(moments_.next(3'000));
    process.send(SIGINT);
    EXPECT_EQ(process.wait().status, 130);
    expect_can_go_on(name);
  }
}

// Before the first step there is nothing to save, and nothing to wait for.
TEST_F(Signals, WhileReadingTheText) {
  for (int round = 0; round < 5; ++round) {
    const std::string name = "run" + std::to_string(round);
    Process process(TAPIR_PROGRAM, endless(name));
    usleep(moments_.next(20'000));
    process.send(SIGINT);
    EXPECT_EQ(process.wait().status, 130);
  }
}

TEST_F(Signals, OnATerminalTheBarEndsWithItsLine) {
  Process process(TAPIR_PROGRAM, endless("run"),
                  {.input = "", .in_child = nullptr, .terminal = true});
  ASSERT_TRUE(process.wait_for("  0 % "));
  process.send(SIGINT);
  const ProcessResult result = process.wait();
  EXPECT_EQ(result.status, 130);
  expect_contains(result.out, {"saved step", "tapir train --resume"});
}

TEST_F(Signals, GenerationEndsAtOnce) {
  ASSERT_EQ(run_tapir(tiny_train(data_, folder_ / "run")).status, 0);
  // The likeliest token each time: a model as young as this repeats itself without end.
  Process process(TAPIR_PROGRAM, {"generate", folder_ / "run", "--prompt", "The", "--tokens",
                                  "1000000000", "--temperature", "0"});
  ASSERT_TRUE(process.wait_for("The"));
  process.send(SIGINT);
  EXPECT_EQ(process.wait().status, 130);
}

}  // namespace
}  // namespace tapir::testing
