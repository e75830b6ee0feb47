// Mistakes that depend on who comes first. A plain build sees those that make a result wrong in
// the order in which it runs the threads; ThreadSanitizer sees all of them, also those that come
// out right by luck.
#include <vector>

#include <gtest/gtest.h>

#include "cudasim/fixture.h"

namespace {

using cudasim::Buffer;
using cudasim::CudaSimTest;

constexpr int kThreads = 64, kTiles = 3;

// Runs the correct version, and the faulty one for what it does wrong: its result differs in a
// plain build, whatever the order of the threads. The faulty one comes first: ThreadSanitizer keeps
// four accesses for each eight bytes, and can miss a race on memory that has seen others.
class RaceTest : public CudaSimTest {
 protected:
  template <typename Result, typename Run>
  void expect_wrong_or_race(const Result& expected, const Run& run) {
    expect_race([&] { run(true); });
    EXPECT_EQ(run(false), expected);
    if (!cudasim::kFindsRaces) {
      EXPECT_NE(run(true), expected);
    }
  }

  // The same for what no order of the simulator shows.
  template <typename Result, typename Run>
  void expect_race_only(const Result& expected, const Run& run) {
    expect_race([&] { run(true); });
    EXPECT_EQ(run(false), expected);
  }
};

enum class TileFault { none, read_before_filled, refilled_before_read };

// out[i] = the sum over tiles of the element that thread 63 - i has put into the tile.
void tile_kernel(const float* x, float* out, TileFault fault) {
  TAPIR_SHARED(float, tile, [kThreads]);
  const int i = static_cast<int>(threadIdx.x);
  float sum = 0;
  for (int t = 0; t < kTiles; ++t) {
    tile[i] = x[t * kThreads + i];
    if (fault != TileFault::read_before_filled) __syncthreads();
    sum += tile[kThreads - 1 - i];
    if (fault != TileFault::refilled_before_read) __syncthreads();
  }
  out[i] = sum;
}

// The same with tiles of four floats per thread that are copied asynchronously.
void copied_tile_kernel(const float* x, float* out, TileFault fault) {
  TAPIR_SHARED(float, tile, [4 * kThreads]);
  const int i = static_cast<int>(threadIdx.x);
  float sum = 0;
  for (int t = 0; t < kTiles; ++t) {
    cp_async_16(tile + 4 * i, x + 4 * (t * kThreads + i), true);
    cp_async_commit();
    cp_async_wait<0>();
    if (fault != TileFault::read_before_filled) __syncthreads();
    sum += tile[4 * (kThreads - 1 - i)];
    if (fault != TileFault::refilled_before_read) __syncthreads();
  }
  out[i] = sum;
}

class TileTest : public RaceTest {
 protected:
  // For a kernel whose threads have `width` floats each in a tile.
  void expect_found(void (*kernel)(const float*, float*, TileFault), int width, TileFault fault) {
    std::vector<float> x, expected(kThreads);
    for (int i = 0; i < kTiles * kThreads * width; ++i) x.push_back(static_cast<float>(i % 37));
    for (int i = 0; i < kThreads; ++i) {
      for (int t = 0; t < kTiles; ++t) {
        expected[static_cast<size_t>(i)] +=
            x[static_cast<size_t>((t * kThreads + kThreads - 1 - i) * width)];
      }
    }
    expect_wrong_or_race(expected, [&](bool faulty) {
      const Buffer<float> input(x), out(std::vector<float>(kThreads, -1.0f));
      launch_kernel(kernel, dim3(1), dim3(kThreads), 0, nullptr, input.data, out.data,
                    faulty ? fault : TileFault::none);
      return out.read();
    });
  }
};

TEST_F(TileTest, AreReadBeforeTheyAreFilled) {
  expect_found(tile_kernel, 1, TileFault::read_before_filled);
}

TEST_F(TileTest, AreRefilledBeforeTheyAreRead) {
  expect_found(tile_kernel, 1, TileFault::refilled_before_read);
}

TEST_F(TileTest, AreReadBeforeOthersHaveCopiedThem) {
  expect_found(copied_tile_kernel, 4, TileFault::read_before_filled);
}

TEST_F(TileTest, AreCopiedOverBeforeOthersHaveReadThem) {
  expect_found(copied_tile_kernel, 4, TileFault::refilled_before_read);
}

// out[lane] = the number that its neighbour has stored. Lanes of a warp do not run in step.
void neighbour_kernel(int* out, bool faulty) {
  TAPIR_SHARED(int, numbers, [32]);
  const int lane = static_cast<int>(threadIdx.x);
  numbers[lane] = 10 + lane;
  if (!faulty) __syncwarp();
  out[lane] = numbers[lane ^ 1];
}

TEST_F(RaceTest, LanesThatDoNotWaitForEachOther) {
  std::vector<int> expected;
  for (int lane = 0; lane < 32; ++lane) expected.push_back(10 + (lane ^ 1));
  expect_wrong_or_race(expected, [](bool faulty) {
    const Buffer<int> out(std::vector<int>(32));
    launch_kernel(neighbour_kernel, dim3(1), dim3(32), 0, nullptr, out.data, faulty);
    return out.read();
  });
}

// A shuffle moves values between lanes and says nothing about memory.
void shuffle_order_kernel(int* out, bool faulty) {
  TAPIR_SHARED(int, numbers, [32]);
  const int lane = static_cast<int>(threadIdx.x);
  numbers[lane] = 10 + lane;
  const int other = __shfl_xor_sync(0xffffffffu, lane, 1);
  if (!faulty) __syncwarp();
  out[lane] = numbers[other];
}

TEST_F(RaceTest, ShufflesThatAreTakenForBarriers) {
  std::vector<int> expected;
  for (int lane = 0; lane < 32; ++lane) expected.push_back(10 + (lane ^ 1));
  expect_race_only(expected, [](bool faulty) {
    const Buffer<int> out(std::vector<int>(32));
    launch_kernel(shuffle_order_kernel, dim3(1), dim3(32), 0, nullptr, out.data, faulty);
    return out.read();
  });
}

void count_kernel(int* counts, bool faulty) {
  int* const count = counts + threadIdx.x % 8;
  if (faulty) {
    ++*count;
  } else {
    atomicAdd(count, 1);
  }
}

TEST_F(RaceTest, PlainAdditionsWhereAtomicOnesAreNeeded) {
  expect_race_only(std::vector<int>(8, kThreads / 8), [](bool faulty) {
    const Buffer<int> counts(std::vector<int>(8, 0));
    launch_kernel(count_kernel, dim3(1), dim3(kThreads), 0, nullptr, counts.data, faulty);
    return counts.read();
  });
}

// Blocks of one warp: ThreadSanitizer keeps only so many threads apart, and forgets a block's
// before it meets the next large one's.
TEST_F(RaceTest, PlainAdditionsOfSeveralBlocks) {
  expect_race_only(std::vector<int>(8, 8), [](bool faulty) {
    const Buffer<int> counts(std::vector<int>(8, 0));
    launch_kernel(count_kernel, dim3(8), dim3(8), 0, nullptr, counts.data, faulty);
    return counts.read();
  });
}

}  // namespace
