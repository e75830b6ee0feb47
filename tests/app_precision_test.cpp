// The processor's instructions and the precision of products, as a user chooses them.
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

TEST(Precision, IsRecordedInTheRun) {
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

TEST(Precision, OfGenerationAndEvaluation) {
  const TinyRun tiny;
  for (const char* command : {"generate", "eval"}) {
    const ProcessResult result = run_tapir({command, tiny / "run", "--matmul-precision", "medium"},
                                           with_instructions("avx2"));
    EXPECT_EQ(result.status, 0) << result.err;
    expect_contains(result.err, {"--matmul-precision medium computes in f32 here"});
  }
}

}  // namespace
}  // namespace tapir::testing
