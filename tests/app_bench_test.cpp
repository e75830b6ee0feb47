// tapir bench prints every figure beside what the machine can do; its mistakes are explained.
#include <gtest/gtest.h>

#include "tests/support/tiny_run.h"

namespace tapir::testing {
namespace {

// As little work as possible: what is measured does not matter here.
ProcessResult bench(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "bench");
  for (const char* flag : {"--seconds", "0", "--layers", "1", "--d-model", "16", "--heads", "2",
                           "--context", "8", "--batch", "2"})
    arguments.emplace_back(flag);
  return run_tapir(arguments);
}

TEST(Bench, MeasuresTheMachine) {
  const ProcessResult result = bench({"machine"});
  EXPECT_EQ(result.status, 0) << result.err;
  expect_contains(result.out, {"FMA peak", "GFLOP/s", "memory, read", "GB/s"});
}

TEST(Bench, MeasuresKernelsOfAModel) {
  const ProcessResult result = bench({"gemm", "attention"});
  EXPECT_EQ(result.status, 0) << result.err;
  expect_contains(result.out, {"up forward [16, 16] [16, 64]", "up dx [16, 64] [64, 16]",
                               "up dw [64, 16] [16, 16]", "attention backward", "FMA peak"});
}

TEST(Bench, MeasuresAWholeStep) {
  const ProcessResult result = bench({"train"});
  EXPECT_EQ(result.status, 0) << result.err;
  expect_contains(result.out, {"training step", "forward and loss", "tokens/s", "page faults",
                               "parts of a step", "matmul", "adamw", "between them"});
}

TEST(Bench, MeasuresGeneration) {
  const ProcessResult result = bench({"generate"});
  EXPECT_EQ(result.status, 0) << result.err;
  expect_contains(result.out, {"f32 prompt of 4 tokens", "f32 one token", "bf16 one token",
                               "of reading the weights alone"});
}

TEST(Bench, AnUnknownPartIsAnError) {
  const ProcessResult result = bench({"gem"});
  EXPECT_EQ(result.status, 1);
  expect_contains(result.err, {"bench: there is no part 'gem'", "did you mean gemm"});
}

}  // namespace
}  // namespace tapir::testing
