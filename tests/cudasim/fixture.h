// What the tests of the simulator share. Which mistakes can be seen depends on the build: a plain
// one sees wrong results, the sanitizers see bad addresses or races, and end the process.
#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cudasim/cudasim.h"

namespace cudasim {

#ifdef CUDASIM_ASAN
inline constexpr bool kFindsBadAddresses = true;
#else
inline constexpr bool kFindsBadAddresses = false;
#endif
#ifdef CUDASIM_TSAN
inline constexpr bool kFindsRaces = true;
#else
inline constexpr bool kFindsRaces = false;
#endif

// Elements on the simulated device.
template <typename T>
struct Buffer {
  T* data = nullptr;
  explicit Buffer(const std::vector<T>& values) : count(values.size()) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data), count * sizeof(T)), cudaSuccess);
    EXPECT_EQ(
        cudaMemcpyAsync(data, values.data(), count * sizeof(T), cudaMemcpyHostToDevice, nullptr),
        cudaSuccess);
  }
  ~Buffer() { cudaFree(data); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::vector<T> read() const {
    std::vector<T> values(count);
    cudaMemcpyAsync(values.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost, nullptr);
    return values;
  }
  size_t count;
};

class CudaSimTest : public testing::Test {
 protected:
  void SetUp() override {
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    take_report();
  }
  void TearDown() override { EXPECT_STREQ(take_report(), "") << "a report nobody expected"; }

  // The report of everything queued so far.
  static std::string report() {
    cudaDeviceSynchronize();
    return take_report();
  }

  // ThreadSanitizer sees a race in `run`, or, in another build, `run` shows nothing of it.
  static void expect_race(const std::function<void()>& run) {
    if constexpr (kFindsRaces) {
      constexpr int kStatus = 66;  // of a process in which ThreadSanitizer has found something
      const auto run_and_end = [&run] {
        run();
        std::exit(0);
      };
      EXPECT_EXIT(run_and_end(), testing::ExitedWithCode(kStatus), "data race");
    }
  }

  // AddressSanitizer, or the check of array bounds, ends the process in `run`.
  static void expect_bad_address(const std::function<void()>& run) {
    if constexpr (kFindsBadAddresses) {
      EXPECT_DEATH(run(), "use-after-poison|out of bounds");
    }
  }
};

}  // namespace cudasim
