// What tests of the CUDA backend share.
#pragma once

#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include "backends/registry.h"

namespace tapir::testing {

// Skips where there is no device; where one must be, TAPIR_EXPECT_CUDA says so.
class CudaTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string reason;
    if (is_available(kCuda, &reason)) return;
    ASSERT_EQ(std::getenv("TAPIR_EXPECT_CUDA"), nullptr) << reason;
    GTEST_SKIP() << reason;
  }
};

}  // namespace tapir::testing
