#include "backends/cpu/cpu_features.h"

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "backends/registry.h"
#include "tests/support/expect_error.h"

namespace tapir::cpu {
namespace {

using testing::expect_error;

const Features kOld{false, false, "Old"}, kAvx2{true, false, "Middling"},
    kAvx512{true, true, "New"};

TEST(CpuFeatures, TakesTheBestThatIsThere) {
  EXPECT_EQ(choose_isa(kAvx2, true, ""), Isa::avx2);
  EXPECT_EQ(choose_isa(kAvx512, true, ""), Isa::avx512);
  EXPECT_EQ(choose_isa(kAvx512, false, ""), Isa::avx2);
}

TEST(CpuFeatures, WishesOverrideDownward) {
  EXPECT_EQ(choose_isa(kAvx512, true, "avx2"), Isa::avx2);
  EXPECT_EQ(choose_isa(kAvx512, true, "avx512"), Isa::avx512);
  EXPECT_EQ(choose_isa(kAvx2, true, "avx2"), Isa::avx2);
}

TEST(CpuFeatures, Errors) {
  expect_error([] { choose_isa(kAvx2, true, "avx512"); },
               {"TAPIR_CPU: the processor (Middling) has no AVX-512", "use avx2"});
  expect_error([] { choose_isa(kAvx512, false, "avx512"); },
               {"TAPIR_CPU: this build has no AVX-512 kernels", "use avx2"});
  expect_error([] { choose_isa(kAvx512, true, "sse9"); },
               {"TAPIR_CPU: unknown instruction set 'sse9'", "avx2 or avx512"});
  expect_error([] { choose_isa(kOld, true, ""); }, {"cpu: the processor (Old) has no AVX2"});
}

// Linux lists the same feature bits; it leaves out what the system does not support.
TEST(CpuFeatures, AgreesWithTheKernel) {
  std::ifstream file("/proc/cpuinfo");
  std::string flags;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("flags")) {
      flags = line + " ";
      break;
    }
  }
  if (flags.empty()) GTEST_SKIP() << "no /proc/cpuinfo";
  const auto has = [&](const std::string& flag) {
    return flags.find(" " + flag + " ") != std::string::npos;
  };
  EXPECT_EQ(features().avx2,
            has("avx2") && has("fma") && has("f16c") && has("bmi1") && has("bmi2"));
  EXPECT_EQ(features().avx512, features().avx2 && has("avx512f") && has("avx512bw") &&
                                   has("avx512cd") && has("avx512dq") && has("avx512vl"));
  EXPECT_FALSE(features().model.empty());
}

TEST(Registry, ChoosesTheCpu) {
  EXPECT_TRUE(is_available(kCpu));
  EXPECT_EQ(choose_device("cpu"), kCpu);
  EXPECT_EQ(backend(kCpu).device(), kCpu);
  EXPECT_NE(backend(kCpu).description().find(features().model), std::string::npos);
  expect_error([] { choose_device("tpu"); }, {"unknown device 'tpu'", "cpu or cuda"});
}

}  // namespace
}  // namespace tapir::cpu
