#include "backends/cpu/allocator.h"

#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

#if defined(__SANITIZE_ADDRESS__)
#define TAPIR_TEST_RECYCLES 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TAPIR_TEST_RECYCLES 0
#endif
#endif
#ifndef TAPIR_TEST_RECYCLES
#define TAPIR_TEST_RECYCLES 1
#endif

namespace tapir::cpu {
namespace {

using testing::expect_error;

constexpr bool kRecycles = TAPIR_TEST_RECYCLES != 0;  // not under AddressSanitizer

TEST(Allocator, AlignsAndCounts) {
  RecyclingAllocator allocator;
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{63}, size_t{4097}, size_t{5} << 20}) {
    void* block = allocator.allocate(bytes);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % 64, 0u) << bytes;
    std::memset(block, 1, bytes);
    EXPECT_GE(allocator.stats().bytes_in_use, static_cast<int64_t>(bytes));
    allocator.deallocate(block, bytes);
    EXPECT_EQ(allocator.stats().bytes_in_use, 0);
  }
}

TEST(Allocator, LargeBlocksStartOnAHugePage) {
  if (!kRecycles) GTEST_SKIP();
  RecyclingAllocator allocator;
  void* block = allocator.allocate(size_t{3} << 20);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (size_t{2} << 20), 0u);
  allocator.deallocate(block, size_t{3} << 20);
}

TEST(Allocator, Recycles) {
  if (!kRecycles) GTEST_SKIP();
  RecyclingAllocator allocator;
  void* first = allocator.allocate(1000);
  allocator.deallocate(first, 1000);
  const int64_t asked = allocator.stats().system_allocations;
  void* second = allocator.allocate(990);  // of the same class
  EXPECT_EQ(first, second);
  EXPECT_EQ(allocator.stats().system_allocations, asked);
  allocator.deallocate(second, 990);
  allocator.release_free_blocks();
  EXPECT_EQ(allocator.stats().bytes_reserved, 0);
}

TEST(Allocator, BlockSizesWasteAtMostAnEighth) {
  for (size_t bytes = 1; bytes < (size_t{1} << 40); bytes = bytes * 9 / 8 + 1) {
    const size_t size = block_size(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_LE(size - bytes, std::max<size_t>(63, bytes / 8)) << bytes;
    EXPECT_EQ(block_size(size), size);
  }
}

TEST(Allocator, PeakFollowsUse) {
  RecyclingAllocator allocator;
  void* a = allocator.allocate(1 << 16);
  void* b = allocator.allocate(1 << 16);
  allocator.deallocate(a, 1 << 16);
  EXPECT_GE(allocator.stats().peak_bytes, 2 << 16);
  allocator.reset_peak();
  EXPECT_LT(allocator.stats().peak_bytes, 2 << 16);
  allocator.deallocate(b, 1 << 16);
}

TEST(Allocator, DoesNotHoardBlocksOfOldSizes) {
  if (!kRecycles) GTEST_SKIP();
  RecyclingAllocator allocator;
  for (size_t mebibytes = 2; mebibytes <= 64; ++mebibytes)
    allocator.deallocate(allocator.allocate(mebibytes << 20), mebibytes << 20);
  // At most what was in use at once, once more, and the last block.
  EXPECT_LE(allocator.stats().bytes_reserved, 3 * (int64_t{72} << 20));
}

TEST(Allocator, ImpossibleRequestsAreErrors) {
  RecyclingAllocator allocator;
  void* held = allocator.allocate(3 << 20);
  const int64_t in_use = allocator.stats().bytes_in_use;
  for (const size_t bytes :
       {std::numeric_limits<size_t>::max(), std::numeric_limits<size_t>::max() / 2, size_t{1} << 48,
        size_t{1} << 45}) {
    expect_error([&] { allocator.allocate(bytes); },
                 {"allocate: out of memory", "3.0 MiB are in use", "smaller batch"});
  }
  EXPECT_EQ(allocator.stats().bytes_in_use, in_use);
  allocator.deallocate(held, 3 << 20);
}

TEST(Allocator, WorksFromSeveralThreads) {
  RecyclingAllocator allocator;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&allocator, t] {
      for (size_t i = 0; i < 500; ++i) {
        const size_t bytes = 64 + i % 7 * 100;
        void* block = allocator.allocate(bytes);
        std::memset(block, t, bytes);
        for (size_t j = 0; j < bytes; ++j) ASSERT_EQ(static_cast<char*>(block)[j], t);
        allocator.deallocate(block, bytes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(allocator.stats().bytes_in_use, 0);
}

TEST(Scratch, IsReturned) {
  const int64_t before = allocator().stats().bytes_in_use;
  {
    const Scratch<double> scratch(100);
    scratch.data()[99] = 1.0;
    EXPECT_GE(allocator().stats().bytes_in_use, before + 800);
  }
  EXPECT_EQ(allocator().stats().bytes_in_use, before);
}

}  // namespace
}  // namespace tapir::cpu
