// The simulator finds mistakes: each test plants one in a small kernel or in its host code, beside
// the correct version. A simulator that lets faults pass would make every other test of the CUDA
// backend worthless. cudasim_races_test plants those that depend on the order of threads.
#include <cmath>
#include <vector>

#include <cublas_v2.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cudasim/fixture.h"

namespace {

using cudasim::Buffer;
using cudasim::CudaSimTest;
using testing::HasSubstr;

constexpr int kThreads = 64;

enum class Fault {
  none,
  missing_barrier,
  missing_barrier_in_loop,
  divergent_barrier,
  early_return,
  past_shared,
  past_global,
  different_barriers
};

// out[0] = the sum of x, as a tree in shared memory.
void sum_kernel(const float* x, float* out, int count, Fault fault) {
  TAPIR_SHARED(float, partial, [kThreads]);
  const int i = static_cast<int>(threadIdx.x);
  if (fault == Fault::early_return && i >= count) return;
  const int place = fault == Fault::past_shared ? i + 1 : i;
  partial[place] = i < count || fault == Fault::past_global ? x[i] : 0.0f;
  if (fault == Fault::different_barriers) {
    if (i % 2 == 0) {
      __syncthreads();
    } else {
      __syncthreads();
    }
  } else if (fault != Fault::missing_barrier) {
    __syncthreads();
  }
  for (int distance = kThreads / 2; distance > 0; distance /= 2) {
    if (i < distance) partial[i] += partial[i + distance];
    if (fault == Fault::divergent_barrier) {
      if (i < distance) __syncthreads();
    } else if (fault != Fault::missing_barrier_in_loop) {
      __syncthreads();
    }
  }
  if (i == 0) out[0] = partial[0];
}

class SumTest : public CudaSimTest {
 protected:
  // The kernel's sum of 50 ones, or NaN when it did not get so far.
  float sum(Fault fault) {
    const Buffer<float> x(std::vector<float>(50, 1.0f)), out(std::vector<float>{NAN});
    launch_kernel(sum_kernel, dim3(1), dim3(kThreads), 0, nullptr, x.data, out.data, 50, fault);
    cudaDeviceSynchronize();
    message = cudasim::take_report();
    return out.read()[0];
  }
  std::string message;
};

TEST_F(SumTest, TheCorrectKernelPasses) {
  EXPECT_EQ(sum(Fault::none), 50.0f);
  EXPECT_EQ(message, "");
}

// In reverse order the threads that write come before those that read, which hides these two.
TEST_F(SumTest, MissingBarriersGiveWrongSumsOrRaces) {
  for (Fault fault : {Fault::missing_barrier, Fault::missing_barrier_in_loop}) {
    expect_race([&] { sum(fault); });
    if (!cudasim::kFindsRaces && cudasim::settings().order != cudasim::Order::reverse) {
      EXPECT_NE(sum(fault), 50.0f);
    }
  }
}

TEST_F(SumTest, UninitialisedAndForeignMemoryIsNaN) {
  for (Fault fault : {Fault::past_shared, Fault::past_global}) {
    expect_bad_address([&] { sum(fault); });
    if (!cudasim::kFindsBadAddresses) {
      EXPECT_TRUE(std::isnan(sum(fault)));
    }
  }
}

TEST_F(SumTest, BarriersThatThreadsDoNotShareAreDeadlocks) {
  sum(Fault::divergent_barrier);
  EXPECT_THAT(message, HasSubstr("deadlock in block (0, 0, 0)"));
  EXPECT_THAT(message, HasSubstr("cudasim_test.cpp"));
  sum(Fault::early_return);
  EXPECT_THAT(message, HasSubstr("14 threads finished, 50 at the barrier"));
  sum(Fault::different_barriers);
  EXPECT_THAT(message, HasSubstr("different barriers"));
}

enum class WarpFault { none, exited_lanes, half_warp, not_in_mask, outside_mask };

// out[lane] = the value of the lane's neighbour.
void shuffle_kernel(int* out, WarpFault fault) {
  const int lane = static_cast<int>(threadIdx.x);
  if (fault == WarpFault::exited_lanes && lane >= 20) return;
  if (fault == WarpFault::half_warp && lane >= 16) {
    out[lane] = lane ^ 1;
    return;
  }
  unsigned mask = 0xffffffffu;
  if (fault == WarpFault::not_in_mask) mask = 0xfffffffeu;
  if (fault == WarpFault::outside_mask) mask = lane < 16 ? 0x0000ffffu : 0xffff0000u;
  const int distance = fault == WarpFault::outside_mask ? 16 : 1;
  out[lane] = __shfl_xor_sync(mask, lane, distance);
}

std::string shuffle(WarpFault fault) {
  const Buffer<int> out(std::vector<int>(32, -1));
  launch_kernel(shuffle_kernel, dim3(1), dim3(32), 0, nullptr, out.data, fault);
  cudaDeviceSynchronize();
  const std::string message = cudasim::take_report();
  if (fault == WarpFault::none) {
    EXPECT_EQ(out.read()[5], 4);
    EXPECT_EQ(out.read()[30], 31);
  }
  return message;
}

TEST_F(CudaSimTest, WarpOperationsNeedTheLanesOfTheirMask) {
  EXPECT_EQ(shuffle(WarpFault::none), "");
  EXPECT_THAT(shuffle(WarpFault::exited_lanes), HasSubstr("deadlock"));
  EXPECT_THAT(shuffle(WarpFault::half_warp), HasSubstr("mask ffffffff"));
  // The order of the lanes decides whose mistake is met first.
  EXPECT_THAT(shuffle(WarpFault::not_in_mask),
              testing::AnyOf(HasSubstr("lacks it"), HasSubstr("takes no part")));
  EXPECT_THAT(shuffle(WarpFault::outside_mask), HasSubstr("which takes no part"));
}

// Copies two chunks to shared memory in turn and adds up the halves of each.
void copy_kernel(const uint64_t* x, uint64_t* out, int pending) {
  TAPIR_SHARED(uint64_t, chunks, [4]);
  for (int i = 0; i < 2; ++i) {
    cp_async_16(chunks + 2 * i, x + 2 * i, true);
    cp_async_commit();
  }
  pending == 0 ? cp_async_wait<0>() : cp_async_wait<1>();
  for (int i = 0; i < 2; ++i) out[i] = chunks[2 * i] + chunks[2 * i + 1];
}

TEST_F(CudaSimTest, AsynchronousCopiesLandWhenTheirGroupIsWaitedFor) {
  for (int pending : {0, 1}) {
    const Buffer<uint64_t> x({1, 2, 3, 4}), out(std::vector<uint64_t>(2));
    launch_kernel(copy_kernel, dim3(1), dim3(1), 0, nullptr, x.data, out.data, pending);
    EXPECT_EQ(out.read()[0], 3u);
    EXPECT_EQ(out.read()[1] == 7u, pending == 0);
  }
}

// out [16, 8] = a [16, 16] b [16, 8], with b stored by columns, through ldmatrix and mma.
void multiply_kernel(const __nv_bfloat16* a, const __nv_bfloat16* b, float* out, bool swapped) {
  TAPIR_SHARED(__nv_bfloat16, left, [16 * 16]);
  TAPIR_SHARED(__nv_bfloat16, right, [16 * 16]);
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 256; i += 32) {
    left[i] = a[i];
    right[i] = b[i];
  }
  __syncwarp();
  uint32_t x[4], y[4];
  ldmatrix_x4(x, left + lane % 16 * 16 + lane / 16 * 8);
  ldmatrix_x4(y, right + (lane % 8 + lane / 16 * 8) * 16 + lane / 8 % 2 * 8);
  const uint32_t pair[2] = {swapped ? y[1] : y[0], swapped ? y[0] : y[1]};
  float sum[4] = {};
  mma_bf16(sum, x, pair);
  for (int i = 0; i < 4; ++i) out[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sum[i];
}

TEST_F(CudaSimTest, TensorCoreProductsFollowTheLayoutOfFragments) {
  std::vector<__nv_bfloat16> a, b;
  for (int i = 0; i < 256; ++i) {
    a.push_back(__float2bfloat16(static_cast<float>(i % 7 - 3)));
    b.push_back(__float2bfloat16(static_cast<float>(i % 5 - 2)));
  }
  for (bool swapped : {false, true}) {
    const Buffer<__nv_bfloat16> left(a), right(b);
    const Buffer<float> out(std::vector<float>(128));
    launch_kernel(multiply_kernel, dim3(1), dim3(32), 0, nullptr, left.data, right.data, out.data,
                  swapped);
    const std::vector<float> product = out.read();
    bool equal = true;
    for (int row = 0; row < 16; ++row) {
      for (int column = 0; column < 8; ++column) {
        float expected = 0;
        for (int k = 0; k < 16; ++k)
          expected += __bfloat162float(a[static_cast<size_t>(row * 16 + k)]) *
                      __bfloat162float(b[static_cast<size_t>(column * 16 + k)]);
        equal = equal && product[static_cast<size_t>(row * 8 + column)] == expected;
      }
    }
    EXPECT_EQ(equal, !swapped);
  }
}

void touch_kernel(float* x, int i) {
  x[i] = 1;
}

TEST_F(CudaSimTest, LaunchesAreCheckedAsByTheRuntime) {
  const Buffer<float> x(std::vector<float>(4));
  const auto status = [&](dim3 grid, dim3 block, size_t shared) {
    return launch_kernel(touch_kernel, grid, block, shared, nullptr, x.data, 0);
  };
  EXPECT_EQ(status(dim3(0), dim3(1), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(status(dim3(1), dim3(1025), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(status(dim3(1, 65536), dim3(1), 0), cudaErrorInvalidConfiguration);
  EXPECT_EQ(status(dim3(1), dim3(1), 49 * 1024), cudaErrorInvalidValue);
  EXPECT_EQ(allow_shared_bytes(touch_kernel, 300 * 1024), cudaErrorInvalidValue);
  EXPECT_EQ(allow_shared_bytes(touch_kernel, 64 * 1024), cudaSuccess);
  EXPECT_EQ(status(dim3(1), dim3(1), 49 * 1024), cudaSuccess);
}

TEST_F(CudaSimTest, PointersMustBeLiveDeviceMemory) {
  std::vector<float> host(4);
  const auto touch = [](float* x) {
    return launch_kernel(touch_kernel, dim3(1), dim3(1), 0, nullptr, x, 0);
  };
  EXPECT_EQ(touch(host.data()), cudaErrorIllegalAddress);
  EXPECT_THAT(report(), HasSubstr("no live device memory"));
  float* freed = nullptr;
  cudaMalloc(reinterpret_cast<void**>(&freed), 16);
  EXPECT_EQ(cudaFree(freed), cudaSuccess);
  EXPECT_EQ(touch(freed), cudaErrorIllegalAddress);
  EXPECT_THAT(report(), HasSubstr("no live device memory"));
  EXPECT_EQ(cudaFree(freed), cudaErrorInvalidValue);
  EXPECT_THAT(report(), HasSubstr("not a live allocation"));
}

TEST_F(CudaSimTest, CopiesMustFitTheirAllocations) {
  const Buffer<float> x(std::vector<float>(4));
  std::vector<float> host(8);
  EXPECT_EQ(cudaMemcpyAsync(host.data(), x.data, 20, cudaMemcpyDeviceToHost, nullptr),
            cudaErrorInvalidValue);
  EXPECT_THAT(report(), HasSubstr("20 bytes does not fit"));
  EXPECT_EQ(cudaMemcpyAsync(host.data(), x.data, 16, cudaMemcpyHostToDevice, nullptr),
            cudaErrorInvalidValue);
  EXPECT_NE(report(), "");
  EXPECT_EQ(cudaMemsetAsync(x.data, 0, 17, nullptr), cudaErrorInvalidValue);
  EXPECT_NE(report(), "");
}

TEST_F(CudaSimTest, WritesPastAnAllocationAreFoundAtOnceOrWhenItIsFreed) {
  const auto write_past_the_end = [] {
    float* x = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&x), 16);
    launch_kernel(touch_kernel, dim3(1), dim3(1), 0, nullptr, x, 4);
    return cudaFree(x);
  };
  expect_bad_address(write_past_the_end);
  if (cudasim::kFindsBadAddresses) return;
  EXPECT_NE(write_past_the_end(), cudaSuccess);
  EXPECT_THAT(report(), HasSubstr("past the end of a device allocation of 16 bytes, at 16"));
}

struct Hidden {
  const float* x;
};

void read_hidden_kernel(Hidden hidden, float* out) {
  out[0] = hidden.x[0];
}

// Pointers inside of structures are not looked at when a kernel is launched.
TEST_F(CudaSimTest, FreedMemoryIsNaNOrABadAddress) {
  const auto read_freed = [] {
    Hidden hidden{};
    {
      const Buffer<float> x({1.0f, 2.0f});
      hidden.x = x.data;
    }
    const Buffer<float> out(std::vector<float>(1000));
    launch_kernel(read_hidden_kernel, dim3(1), dim3(1), 0, nullptr, hidden, out.data);
    return out.read()[0];
  };
  expect_bad_address(read_freed);
  if (!cudasim::kFindsBadAddresses) {
    EXPECT_TRUE(std::isnan(read_freed()));
  }
}

void past_dynamic_kernel(float* out) {
  TAPIR_DYNAMIC_SHARED(float, shared);
  out[0] = shared[8];
}

TEST_F(CudaSimTest, BehindDynamicSharedMemoryIsNaNOrABadAddress) {
  const auto read_past_the_end = [] {
    const Buffer<float> out({0.0f});
    launch_kernel(past_dynamic_kernel, dim3(1), dim3(1), 8 * sizeof(float), nullptr, out.data);
    return out.read()[0];
  };
  expect_bad_address(read_past_the_end);
  if (!cudasim::kFindsBadAddresses) {
    EXPECT_TRUE(std::isnan(read_past_the_end()));
  }
}

TEST_F(CudaSimTest, TheHostCannotTouchDeviceMemory) {
  const Buffer<float> x(std::vector<float>(4));
  cudaDeviceSynchronize();
  EXPECT_DEATH({ *static_cast<volatile float*>(x.data) = 1; }, "");
}

TEST_F(CudaSimTest, QueuedWorkHappensWhenSomethingWaitsForIt) {
  float* pinned = nullptr;
  cudaMallocHost(reinterpret_cast<void**>(&pinned), sizeof(float));
  const Buffer<float> x({2.0f});
  cudaDeviceSynchronize();
  *pinned = 1;
  cudaMemcpyAsync(pinned, x.data, sizeof(float), cudaMemcpyDeviceToHost, nullptr);
  EXPECT_EQ(*pinned, 1.0f) << "read without waiting";
  cudaDeviceSynchronize();
  EXPECT_EQ(*pinned, 2.0f);
  cudaMemcpyAsync(x.data, pinned, sizeof(float), cudaMemcpyHostToDevice, nullptr);
  *pinned = 9;  // the source is changed while the copy may still read it
  EXPECT_EQ(x.read()[0], 9.0f);
  cudaFreeHost(pinned);
}

// A stream does not wait for another by itself.
TEST_F(CudaSimTest, WorkOfAnotherStreamMayNotHaveHappened) {
  cudaStream_t writer = nullptr, reader = nullptr;
  cudaStreamCreateWithFlags(&writer, cudaStreamNonBlocking);
  cudaStreamCreateWithFlags(&reader, cudaStreamNonBlocking);
  for (bool waits : {true, false}) {
    const Buffer<float> x(std::vector<float>{0.0f});
    cudaDeviceSynchronize();
    launch_kernel(touch_kernel, dim3(1), dim3(1), 0, writer, x.data, 0);
    if (waits) cudaStreamSynchronize(writer);
    float value = -1;
    cudaMemcpyAsync(&value, x.data, sizeof(value), cudaMemcpyDeviceToHost, reader);
    cudaStreamSynchronize(reader);
    EXPECT_EQ(value, waits ? 1.0f : 0.0f);
  }
}

TEST_F(CudaSimTest, ProductsAreCheckedMoreStrictlyThanByCublas) {
  static cublasHandle_t handle = nullptr;  // never destroyed, as by the backend
  cublasCreate(&handle);
  const Buffer<float> a(std::vector<float>(12, 1.0f)), b(std::vector<float>(8, 1.0f)),
      c(std::vector<float>(6));
  const float one = 1, zero = 0;
  const auto multiply = [&](int m, int lda, cublasComputeType_t compute) {
    return cublasGemmStridedBatchedEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, m, 2, 4, &one, a.data,
                                      CUDA_R_32F, lda, 0, b.data, CUDA_R_32F, 4, 0, &zero, c.data,
                                      CUDA_R_32F, 3, 0, 1, compute, CUBLAS_GEMM_DEFAULT);
  };
  EXPECT_EQ(multiply(3, 3, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(c.read()[0], 4.0f);
  EXPECT_EQ(multiply(3, 2, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_NE(report(), "");
  EXPECT_EQ(multiply(3, 4, CUBLAS_COMPUTE_32F), CUBLAS_STATUS_INVALID_VALUE) << "a is too short";
  EXPECT_NE(report(), "");
  EXPECT_EQ(multiply(3, 3, CUBLAS_COMPUTE_64F), CUBLAS_STATUS_NOT_SUPPORTED);
}

}  // namespace
