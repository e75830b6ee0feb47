// Why a device cannot be used: each reason in words that say what to do.
#include "backends/plugin.h"

#include <cstdlib>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/registry.h"

namespace tapir {
namespace {

using testing::HasSubstr;

std::string reason_of(const std::string& file, const char* driver = nullptr) {
  std::string reason;
  EXPECT_EQ(open_plugin(file, driver, &reason), nullptr);
  return reason;
}

TEST(Plugin, WithoutALibraryCudaIsNotBuiltAndAutoMeansCpu) {
  unsetenv("TAPIR_CUDA_PLUGIN");
  std::string reason;
  EXPECT_FALSE(is_available(kCuda, &reason));
  EXPECT_THAT(reason, HasSubstr("was built without CUDA"));
  EXPECT_EQ(choose_device("auto"), kCpu);
  EXPECT_EQ(choose_device("cpu"), kCpu);
  try {
    choose_device("cuda");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("device: cuda cannot be used: this program was built"));
  }
}

TEST(Plugin, AMissingDriverIsNamedBeforeTheLibraryIsOpened) {
  EXPECT_THAT(reason_of("/no/such/library.so", "libno_such_driver.so.1"),
              HasSubstr("no NVIDIA driver (libno_such_driver.so.1"));
}

TEST(Plugin, AFileThatIsNoBackendIsRefused) {
  EXPECT_THAT(reason_of("/no/such/library.so"), HasSubstr("cannot be loaded"));
  EXPECT_THAT(reason_of("libm.so.6"), HasSubstr("is no backend"));
}

// The real library: on a machine without a GPU it loads, and answers in words.
TEST(Plugin, TheCudaLibraryWorksOrSaysWhyNot) {
#ifdef TAPIR_CUDA_LIBRARY
  std::string reason;
  const Backend* opened = open_plugin(TAPIR_CUDA_LIBRARY, nullptr, &reason);
  if (opened != nullptr) {
    EXPECT_EQ(opened->device(), kCuda);
    EXPECT_THAT(opened->description(), HasSubstr("compute capability"));
    return;
  }
  EXPECT_THAT(reason, testing::AnyOf(HasSubstr("missing or too old"), HasSubstr("no NVIDIA GPU")));
#else
  GTEST_SKIP() << "libtapir_cuda.so is not part of this build: nvcc and cuBLAS were not found, or "
                  "TAPIR_CUDA is off, as it is with sanitizers";
#endif
}

#ifdef TAPIR_SIMULATED_PLUGIN
std::string reason_of_device(const char* kind) {
  setenv("CUDASIM_DEVICE", kind, 1);
  const std::string reason = reason_of(TAPIR_SIMULATED_PLUGIN);
  unsetenv("CUDASIM_DEVICE");
  return reason;
}

TEST(Plugin, SaysWhatIsWrongWithTheDevice) {
  EXPECT_THAT(reason_of_device("none"), HasSubstr("no NVIDIA GPU"));
  EXPECT_THAT(reason_of_device("old driver"), HasSubstr("missing or too old"));
  EXPECT_THAT(reason_of_device("broken"), HasSubstr("the NVIDIA driver answers: "));
  EXPECT_THAT(reason_of_device("silent"), HasSubstr("does not describe its GPU"));
  EXPECT_THAT(reason_of_device("old"), HasSubstr("compute capability 7.0, and 8.0 is needed"));
  EXPECT_THAT(
      reason_of_device("no cublas"),
      HasSubstr("cublasCreate failed with CUBLAS_STATUS_NOT_INITIALIZED: a simulated failure; the "
                "process cannot go on"));
}

TEST(Plugin, ALibraryOfAnotherBuildIsRefused) {
  void* library = dlopen(TAPIR_SIMULATED_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr) << dlerror();
  const auto open = reinterpret_cast<OpenBackend>(dlsym(library, kPluginEntry));
  ASSERT_NE(open, nullptr);
  std::string reason;
  EXPECT_EQ(open(kPluginVersion + 1, &reason, &shared_matmul_precision()), nullptr);
  EXPECT_THAT(reason, HasSubstr("of another build"));
}

TEST(Plugin, AWorkingDeviceIsOpenedOnce) {
  std::string reason;
  const Backend* first = open_plugin(TAPIR_SIMULATED_PLUGIN, nullptr, &reason);
  ASSERT_NE(first, nullptr) << reason;
  EXPECT_EQ(first->device(), kCuda);
  EXPECT_THAT(first->description(), HasSubstr("simulated device"));
  EXPECT_EQ(open_plugin(TAPIR_SIMULATED_PLUGIN, nullptr, &reason), first);
}
#endif

}  // namespace
}  // namespace tapir
