// `tapir generate` and `tapir eval` with weights of 16 and 8 bits.
#include <cmath>
#include <cstdlib>

#include <gtest/gtest.h>

#include "tests/support/tiny_run.h"

namespace tapir::testing {
namespace {

// A model whose widths are multiples of 32, trained until it has learned most of the text.
class WideRun {
 public:
  WideRun() : run(folder_ / "run") {
    const std::string data = folder_.write("text.txt", small_text());
    const ProcessResult result = run_tapir(
        {"train", "--data",  data,   "--out",        run,  "--layers",       "1",  "--heads",
         "2",     "--steps", "150",  "--d-model",    "32", "--context",      "32", "--batch",
         "8",     "--lr",    "5e-3", "--eval-every", "0",  "--sample-every", "0",  "--threads",
         "1"});
    EXPECT_EQ(result.status, 0) << result.err;
  }

 private:
  TemporaryFolder folder_;

 public:
  std::string run;
};

const std::string& wide_run() {
  static const WideRun run;
  return run.run;
}

double loss_with(const std::string& weights) {
  const ProcessResult result = run_tapir({"eval", wide_run(), "--weights", weights});
  EXPECT_EQ(result.status, 0) << result.err;
  const size_t at = result.out.find("loss ");
  EXPECT_NE(at, std::string::npos) << result.out;
  return std::strtod(result.out.c_str() + at + 5, nullptr);
}

// The bound is what int8 is allowed to cost. An untrained model has a loss of log(256) = 5.5.
TEST(Weights, FewerBitsHardlyChangeTheLoss) {
  const double exact = loss_with("f32");
  EXPECT_LT(exact, 2.5);
  EXPECT_NEAR(loss_with("bf16"), exact, 0.005 * exact);
  EXPECT_NEAR(loss_with("int8"), exact, 0.005 * exact);
}

TEST(Weights, GenerateTakesThem) {
  for (const char* weights : {"f32", "bf16", "int8"}) {
    const ProcessResult result =
        run_tapir({"generate", wide_run(), "--prompt", "The cat", "--tokens", "20", "--weights",
                   weights, "--temperature", "0", "--threads", "1"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out.rfind("The cat", 0), 0u) << result.out;
    expect_contains(result.out, {"The cat number "});  // which the text teaches
    expect_contains(result.err, {"generated: 20 tokens"});
  }
}

TEST(Weights, AnImpossibleChoiceIsAnError) {
  const TinyRun narrow;
  for (const char* command : {"generate", "eval"}) {
    expect_failure(run_tapir({command, narrow.run, "--weights", "int8"}), 1,
                   {"weights", "width 16", "use bf16"});
    expect_failure(run_tapir({command, narrow.run, "--weights", "int4"}), 1,
                   {"'int4'", "f32, bf16 or int8"});
  }
}

}  // namespace
}  // namespace tapir::testing
