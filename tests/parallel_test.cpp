#include "backends/cpu/parallel.h"

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/expect_error.h"

namespace tapir::cpu {
namespace {

using testing::expect_error;

constexpr int64_t kExpensive = 1 << 20;  // enough to go parallel whatever the number of items

class Parallel : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { set_threads(GetParam()); }
  void TearDown() override { set_threads(physical_cores()); }
};

TEST_P(Parallel, RunsEveryItemOnce) {
  for (const int64_t items : {0, 1, 2, 3, 31, 1000, 4097}) {
    for (const int64_t cost : {int64_t{1}, kExpensive}) {
      std::vector<int> runs(static_cast<size_t>(items), 0);
      parallel_for(items, cost, [&](int64_t item) { ++runs[static_cast<size_t>(item)]; });
      for (const int count : runs) ASSERT_EQ(count, 1) << items;
    }
  }
}

TEST_P(Parallel, WorkersHaveTheirOwnMemory) {
  std::vector<int64_t> sums(static_cast<size_t>(threads()), 0);
  parallel_for(5000, kExpensive, [&](int64_t item, int worker) {
    ASSERT_GE(worker, 0);
    ASSERT_LT(worker, GetParam());
    sums[static_cast<size_t>(worker)] += item;  // unguarded: no two threads share a number
  });
  int64_t total = 0;
  for (const int64_t sum : sums) total += sum;
  EXPECT_EQ(total, 4999 * 5000 / 2);
}

TEST_P(Parallel, PiecesAreFixedByTheCount) {
  for (const int64_t count : {1, 63, 64, 65, 1000}) {
    std::vector<std::pair<int64_t, int64_t>> pieces(static_cast<size_t>((count + 63) / 64));
    parallel_pieces(count, 64, kExpensive, [&](int64_t index, int64_t begin, int64_t end) {
      pieces[static_cast<size_t>(index)] = {begin, end};
    });
    for (size_t i = 0; i < pieces.size(); ++i) {
      const int64_t begin = static_cast<int64_t>(i) * 64;
      EXPECT_EQ(pieces[i], (std::pair<int64_t, int64_t>{begin, std::min(begin + 64, count)}));
    }
  }
  parallel_pieces(0, 64, kExpensive, [](int64_t, int64_t, int64_t) { FAIL(); });
}

TEST_P(Parallel, NestedLoopsRunInPlace) {
  std::atomic<int64_t> total{0};
  parallel_for(8, kExpensive, [&](int64_t) {
    const std::thread::id outer = std::this_thread::get_id();
    parallel_for(10, kExpensive, [&](int64_t inner, int worker) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      EXPECT_EQ(worker, 0);
      total += inner;
    });
  });
  EXPECT_EQ(total.load(), 8 * 45);
}

TEST_P(Parallel, SeveralCallersAtOnce) {
  std::vector<std::thread> callers;
  std::vector<int64_t> totals(4, 0);
  for (size_t caller = 0; caller < totals.size(); ++caller) {
    callers.emplace_back([&totals, caller] {
      for (int repeat = 0; repeat < 50; ++repeat) {
        std::atomic<int64_t> sum{0};
        parallel_for(100, kExpensive, [&](int64_t item) { sum += item; });
        totals[caller] += sum.load();
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (const int64_t total : totals) EXPECT_EQ(total, 50 * 4950);
}

TEST_P(Parallel, ManyShortLoopsInARow) {
  // Threads that come late to one loop must not run a body of the next one, or of none.
  for (int64_t repeat = 0; repeat < 3000; ++repeat) {
    std::vector<int64_t> seen(16, -1);
    parallel_for(16, kExpensive,
                 [&](int64_t item) { seen[static_cast<size_t>(item)] = repeat + item; });
    for (int64_t item = 0; item < 16; ++item)
      ASSERT_EQ(seen[static_cast<size_t>(item)], repeat + item);
  }
}

INSTANTIATE_TEST_SUITE_P(Threads, Parallel, ::testing::Values(1, 2, 5),
                         [](const auto& test) { return std::to_string(test.param); });

TEST(Threads, OtherThreadsTakePart) {
  set_threads(2);
  // Each of the two items waits for the other to begin, which one thread alone cannot fulfil. The
  // other thread may come late, and then one thread runs both: so it gets a bounded number of
  // chances.
  bool together = false;
  for (int chance = 0; chance < 200 && !together; ++chance) {
    std::atomic<int> begun{0};
    std::atomic<bool> met{false};
    parallel_for(2, kExpensive, [&](int64_t) {
      ++begun;
      for (int poll = 0; poll < 100 && !met; ++poll) {
        if (begun == 2) met = true;
        std::this_thread::sleep_for(std::chrono::microseconds(100));
      }
    });
    together = met;
  }
  EXPECT_TRUE(together);
  set_threads(physical_cores());
}

TEST(Threads, DefaultIsPhysicalCores) {
  EXPECT_GE(physical_cores(), 1);
  EXPECT_LE(physical_cores(), static_cast<int>(std::thread::hardware_concurrency()));
  EXPECT_EQ(threads(), physical_cores());
}

TEST(Threads, Errors) {
  expect_error([] { set_threads(0); }, {"threads: must be between 1 and 256, got 0"});
  expect_error([] { set_threads(-3); }, {"got -3"});
  expect_error([] { set_threads(257); }, {"got 257"});
}

}  // namespace
}  // namespace tapir::cpu
