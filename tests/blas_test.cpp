#include "backends/cpu/blas.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/cpu_features.h"
#include "backends/error.h"

namespace tapir::cpu {
namespace {

using ::testing::HasSubstr;

// What another process of this test prints when it loads OpenBLAS with these environment
// variables, which are read only once in a process.
std::string report(const std::string& variables) {
  const std::string program = std::filesystem::read_symlink("/proc/self/exe");
  const std::string command = "env " + variables + " '" + program +
                              "' --gtest_also_run_disabled_tests --gtest_filter=*ReportsItself";
  std::FILE* pipe = popen(command.c_str(), "r");
  std::string text;
  std::array<char, 256> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  pclose(pipe);
  return text;
}

TEST(BlasChild, DISABLED_ReportsItself) {
  try {
    const BlasInfo& info = load_blas();
    fmt::print("core={} source={} warning={}\n", info.corename, info.coretype_source,
               info.warning.value_or("none"));
    const char* left = std::getenv("OPENBLAS_CORETYPE");
    fmt::print("left={}\n", left == nullptr ? "nothing" : left);
  } catch (const Error& error) {
    fmt::print("error={}\n", error.what());
  }
}

TEST(Blas, CoreFollowsTheFeatureBits) {
  const std::string text = report("-u OPENBLAS_CORETYPE");
  EXPECT_THAT(text, HasSubstr(features().avx512 ? "core=SkylakeX" : "core=Haswell"));
  EXPECT_THAT(text, HasSubstr("source=cpu features"));
  EXPECT_THAT(text, HasSubstr("warning=none"));
  EXPECT_THAT(text, HasSubstr("left=nothing"));
}

TEST(Blas, RespectsTheUsersCore) {
  const std::string text = report("OPENBLAS_CORETYPE=Haswell");
  EXPECT_THAT(text, HasSubstr("core=Haswell source=OPENBLAS_CORETYPE warning=none"));
  EXPECT_THAT(text, HasSubstr("left=Haswell"));
}

TEST(Blas, WarnsOfASlowCore) {
  const std::string text = report("OPENBLAS_CORETYPE=Prescott");
  EXPECT_THAT(text, HasSubstr("warning=OpenBLAS uses its Prescott kernels"));
  EXPECT_THAT(text, HasSubstr("unset OPENBLAS_CORETYPE"));
}

TEST(Blas, AMissingLibraryIsAnError) {
  const std::string text = report("TAPIR_OPENBLAS=/nowhere/libopenblas.so");
  EXPECT_THAT(text, HasSubstr("error=openblas: no OpenBLAS library could be loaded"));
  EXPECT_THAT(text, HasSubstr("/nowhere/libopenblas.so"));
  EXPECT_THAT(text, HasSubstr("apt install"));
}

TEST(Blas, AnotherLibraryIsAnError) {
  EXPECT_THAT(report("TAPIR_OPENBLAS=libm.so.6"), HasSubstr("the library has no cblas_dgemm"));
}

TEST(Blas, KnowsWhatItLoaded) {
  const BlasInfo& info = load_blas();
  EXPECT_NE(info.path.find("openblas"), std::string::npos) << info.path;
  EXPECT_NE(info.config.find("OpenBLAS"), std::string::npos) << info.config;
  EXPECT_FALSE(info.threading.empty());
  EXPECT_EQ(loaded_blas(), &info);
}

TEST(Blas, Gemm) {
  load_blas();
  const int64_t m = 3, n = 5, k = 4;
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      std::vector<double> a(16), b(20), c(18, 1.0);
      for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i % 7) - 3;
      for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i % 5) - 2;
      const int64_t lda = ta ? m : k, ldb = tb ? k : n, ldc = 6;
      gemm(m, n, k, 2.0, {a.data(), lda, ta}, {b.data(), ldb, tb}, 3.0, {c.data(), ldc});
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;  // small integers: exact in any order
          for (int64_t l = 0; l < k; ++l)
            sum += a[static_cast<size_t>(ta ? l * lda + i : i * lda + l)] *
                   b[static_cast<size_t>(tb ? j * ldb + l : l * ldb + j)];
          EXPECT_EQ(c[static_cast<size_t>(i * ldc + j)], 2 * sum + 3) << ta << tb;
        }
        EXPECT_EQ(c[static_cast<size_t>(i * ldc + n)], 1) << "written beyond the row";
      }
    }
  }
}

}  // namespace
}  // namespace tapir::cpu
