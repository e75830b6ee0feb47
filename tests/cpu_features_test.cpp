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

const Features kOld{false, false, false, "Old"}, kAvx2{true, false, false, "Middling"},
    kAvx512{true, true, false, "New"}, kAmx{true, true, true, "Newest"};

TEST(CpuFeatures, TakesTheBestThatIsThere) {
  EXPECT_EQ(choose_isa(kAvx2, Isa::amx, ""), Isa::avx2);
  EXPECT_EQ(choose_isa(kAvx512, Isa::amx, ""), Isa::avx512);
  EXPECT_EQ(choose_isa(kAvx512, Isa::avx2, ""), Isa::avx2);
  EXPECT_EQ(choose_isa(kAmx, Isa::amx, ""), Isa::amx);
  EXPECT_EQ(choose_isa(kAmx, Isa::avx512, ""), Isa::avx512);
}

TEST(CpuFeatures, WishesOverrideDownward) {
  EXPECT_EQ(choose_isa(kAvx512, Isa::amx, "avx2"), Isa::avx2);
  EXPECT_EQ(choose_isa(kAvx512, Isa::amx, "avx512"), Isa::avx512);
  EXPECT_EQ(choose_isa(kAvx2, Isa::amx, "avx2"), Isa::avx2);
  EXPECT_EQ(choose_isa(kAmx, Isa::amx, "avx2"), Isa::avx2);
  EXPECT_EQ(choose_isa(kAmx, Isa::amx, "avx512"), Isa::avx512);
  EXPECT_EQ(choose_isa(kAmx, Isa::amx, "amx"), Isa::amx);
}

TEST(CpuFeatures, Errors) {
  expect_error([] { choose_isa(kAvx2, Isa::amx, "avx512"); },
               {"TAPIR_CPU: the processor (Middling) has no AVX-512", "use avx2"});
  expect_error([] { choose_isa(kAvx512, Isa::avx2, "avx512"); },
               {"TAPIR_CPU: this build has no avx512 kernels", "use avx2"});
  expect_error([] { choose_isa(kAvx512, Isa::amx, "amx"); },
               {"TAPIR_CPU: the processor (New) has no AMX", "use avx512"});
  expect_error([] { choose_isa(kAmx, Isa::avx512, "amx"); },
               {"TAPIR_CPU: this build has no amx kernels", "use avx512", "amx in TAPIR_ISA_LIST"});
  expect_error([] { choose_isa(kAvx512, Isa::amx, "sse9"); },
               {"TAPIR_CPU: there is no 'sse9'", "avx2, avx512, amx"});
  expect_error([] { choose_isa(kOld, Isa::amx, ""); }, {"cpu: the processor (Old) has no AVX2"});
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
  // Linux may have AMX and refuse it to this process.
  if (features().amx) {
    EXPECT_TRUE(has("amx_tile") && has("amx_bf16") && has("avx512_bf16"));
  }
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
