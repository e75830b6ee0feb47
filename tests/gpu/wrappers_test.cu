// The wrappers of backends/cuda/compiler.h one by one, and the functions of CUDA that the kernels
// use besides, against what NVIDIA's manuals say of them. nvcc builds it for a real device, the
// host's compiler for the simulated one, whose twins of the instructions have to be the same.
#include <cmath>
#include <cstdlib>
#include <vector>

#include <gtest/gtest.h>

#if defined(__CUDACC__)
#include "backends/cuda/compiler.h"
#else
#include "cudasim/cudasim.h"
#endif

namespace {

constexpr unsigned kEveryLane = 0xffffffffu;

// Elements in the memory of the device.
template <typename T>
class Buffer {
 public:
  explicit Buffer(const std::vector<T>& values) : count_(values.size()) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), count_ * sizeof(T)), cudaSuccess);
    EXPECT_EQ(
        cudaMemcpyAsync(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice, nullptr),
        cudaSuccess);
  }
  ~Buffer() { cudaFree(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* data() const { return data_; }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    EXPECT_EQ(
        cudaMemcpyAsync(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost, nullptr),
        cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
    return values;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

class Wrapper : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status == cudaSuccess && devices > 0) return;
    ASSERT_EQ(std::getenv("TAPIR_EXPECT_CUDA"), nullptr) << cudaGetErrorString(status);
    GTEST_SKIP() << "no CUDA device: " << cudaGetErrorString(status);
  }
};

template <typename... Parameters, typename... Arguments>
void run(void (*kernel)(Parameters...), int threads, size_t shared_bytes,
         const Arguments&... arguments) {
  EXPECT_EQ(launch_kernel(kernel, dim3(1), dim3(static_cast<unsigned>(threads)), shared_bytes,
                          nullptr, arguments...),
            cudaSuccess);
}

// Small integers, which bf16 and f16 hold and whose sums f32 holds.
float element(int row, int column) {
  return static_cast<float>((row * 7 + column * 3) % 11 - 5);
}

template <bool kBrain>
uint16_t half_bits(float value) {
  if constexpr (kBrain) {
    return static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(value)).x;
  } else {
    return static_cast<__half_raw>(__float2half_rn(value)).x;
  }
}

template <bool kBrain>
uint32_t pair(float low, float high) {
  return half_bits<kBrain>(low) | static_cast<uint32_t>(half_bits<kBrain>(high)) << 16;
}

template <bool kBrain>
__global__ void mma_kernel(const uint32_t* a, const uint32_t* b, float* d) {
  const int lane = static_cast<int>(threadIdx.x);
  uint32_t left[4], right[2];
  float sums[4];
  for (int i = 0; i < 4; ++i) left[i] = a[lane * 4 + i];
  for (int i = 0; i < 2; ++i) right[i] = b[lane * 2 + i];
  for (int i = 0; i < 4; ++i) sums[i] = d[lane * 4 + i];
  if constexpr (kBrain) {
    mma_bf16(sums, left, right);
  } else {
    mma_f16(sums, left, right);
  }
  for (int i = 0; i < 4; ++i) d[lane * 4 + i] = sums[i];
}

// PTX ISA, "Matrix fragments for mma.m16n8k16 with floating point type": of lane l, with g = l / 4
// and t = l % 4, a[i] holds columns 2t + 8 (i / 2) and the next of row g + 8 (i % 2), b[i] rows
// 2t + 8 i and the next of column g, and the sums columns 2t and 2t + 1 of rows g and g + 8.
template <bool kBrain>
void expect_product() {
  std::vector<uint32_t> a, b;
  std::vector<float> start;
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i) {
      const int row = g + 8 * (i % 2), column = 2 * t + 8 * (i / 2);
      a.push_back(pair<kBrain>(element(row, column), element(row, column + 1)));
      start.push_back(static_cast<float>(100 * lane + i));
    }
    for (int i = 0; i < 2; ++i)
      b.push_back(pair<kBrain>(element(2 * t + 8 * i + 50, g), element(2 * t + 8 * i + 51, g)));
  }
  const Buffer<uint32_t> left(a), right(b);
  const Buffer<float> sums(start);
  run(mma_kernel<kBrain>, 32, 0, left.data(), right.data(), sums.data());
  const std::vector<float> product = sums.read();
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < 4; ++i) {
      const int row = lane / 4 + 8 * (i / 2), column = lane % 4 * 2 + i % 2;
      float expected = start[static_cast<size_t>(lane * 4 + i)];
      for (int k = 0; k < 16; ++k) expected += element(row, k) * element(k + 50, column);
      EXPECT_EQ(product[static_cast<size_t>(lane * 4 + i)], expected) << lane << " " << i;
    }
  }
}

TEST_F(Wrapper, MmaBf16) {
  expect_product<true>();
}

TEST_F(Wrapper, MmaF16) {
  expect_product<false>();
}

template <bool kTransposed>
__global__ void ldmatrix_kernel(const uint16_t* matrices, uint32_t* out) {
  TAPIR_SHARED(uint4, chunks, [4 * 64 / 8]);
  auto* const start = reinterpret_cast<uint16_t*>(chunks);
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 4 * 64; i += 32) start[i] = matrices[i];
  __syncwarp();
  uint32_t r[4];
  if constexpr (kTransposed) {
    ldmatrix_x4_trans(r, start + lane * 8);
  } else {
    ldmatrix_x4(r, start + lane * 8);
  }
  for (int i = 0; i < 4; ++i) out[lane * 4 + i] = r[i];
}

// PTX ISA, "ldmatrix": lane l gets elements 2 (l % 4) and the next of row l / 4 of each matrix, or
// with .trans of column l / 4.
template <bool kTransposed>
void expect_fragments() {
  std::vector<uint16_t> elements;
  for (int i = 0; i < 4 * 64; ++i) elements.push_back(static_cast<uint16_t>(1000 + 3 * i));
  const Buffer<uint16_t> matrices(elements);
  const Buffer<uint32_t> out(std::vector<uint32_t>(32 * 4));
  run(ldmatrix_kernel<kTransposed>, 32, 0, matrices.data(), out.data());
  const std::vector<uint32_t> fragments = out.read();
  for (int lane = 0; lane < 32; ++lane) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      for (int half = 0; half < 2; ++half) {
        const int along = lane % 4 * 2 + half, across = lane / 4;
        const int at = kTransposed ? along * 8 + across : across * 8 + along;
        const uint32_t got =
            fragments[static_cast<size_t>(lane * 4 + matrix)] >> (16 * half) & 0xffffu;
        EXPECT_EQ(got, elements[static_cast<size_t>(matrix * 64 + at)]) << lane << " " << matrix;
      }
    }
  }
}

TEST_F(Wrapper, Ldmatrix) {
  expect_fragments<false>();
}

TEST_F(Wrapper, LdmatrixTransposed) {
  expect_fragments<true>();
}

// Each thread copies two chunks in two groups, the second only if its number is even.
__global__ void cp_async_kernel(const uint4* x, uint4* first, uint4* second) {
  TAPIR_SHARED(uint4, shared, [64]);
  const int i = static_cast<int>(threadIdx.x);
  cp_async_16(shared + i, x + i, true);
  cp_async_commit();
  cp_async_16(shared + 32 + i, x + 32 + i, i % 2 == 0);
  cp_async_commit();
  cp_async_wait<1>();
  __syncthreads();
  first[i] = shared[31 - i];
  cp_async_wait<0>();
  __syncthreads();
  second[i] = shared[63 - i];
}

TEST_F(Wrapper, CpAsync) {
  std::vector<uint4> chunks;
  for (unsigned i = 0; i < 64; ++i) chunks.push_back({i + 1, i + 100, i + 200, i + 300});
  const Buffer<uint4> x(chunks), first(std::vector<uint4>(32)), second(std::vector<uint4>(32));
  run(cp_async_kernel, 32, 0, x.data(), first.data(), second.data());
  const std::vector<uint4> one = first.read(), two = second.read();
  for (unsigned i = 0; i < 32; ++i) {
    const unsigned from = 31 - i, there = from % 2 == 0 ? 1 : 0;  // or zeros
    EXPECT_EQ(one[i].x, from + 1);
    EXPECT_EQ(one[i].w, from + 300);
    EXPECT_EQ(two[i].x, there * (from + 33));
    EXPECT_EQ(two[i].w, there * (from + 332));
  }
}

__global__ void dynamic_shared_kernel(const int* x, int* out, int count) {
  TAPIR_DYNAMIC_SHARED(int, shared);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    shared[i] = x[i];
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x))
    out[i] = shared[count - 1 - i];
}

// The kernels for tensor cores ask for more shared memory than a kernel has without permission.
TEST_F(Wrapper, AllowSharedBytes) {
  const int count = 24 * 1024;
  std::vector<int> values;
  for (int i = 0; i < count; ++i) values.push_back(i * 5);
  const Buffer<int> x(values), out(values);
  ASSERT_EQ(allow_shared_bytes(dynamic_shared_kernel, count * sizeof(int)), cudaSuccess);
  run(dynamic_shared_kernel, 256, count * sizeof(int), x.data(), out.data(), count);
  const std::vector<int> reversed = out.read();
  for (int i = 0; i < count; ++i) ASSERT_EQ(reversed[static_cast<size_t>(i)], (count - 1 - i) * 5);
}

__global__ void shuffle_kernel(int* out) {
  const int lane = static_cast<int>(threadIdx.x);
  out[lane] = __shfl_sync(kEveryLane, lane, 7);
  out[32 + lane] = __shfl_up_sync(kEveryLane, lane, 3);
  out[64 + lane] = __shfl_xor_sync(kEveryLane, lane, 5);
  out[96 + lane] = static_cast<int>(__shfl_xor_sync(kEveryLane, 1e10 + lane, 16) - 1e10);
}

TEST_F(Wrapper, Shuffles) {
  const Buffer<int> out(std::vector<int>(4 * 32));
  run(shuffle_kernel, 32, 0, out.data());
  const std::vector<int> got = out.read();
  for (int lane = 0; lane < 32; ++lane) {
    const auto at = static_cast<size_t>(lane);
    EXPECT_EQ(got[at], 7);
    EXPECT_EQ(got[32 + at], lane < 3 ? lane : lane - 3);
    EXPECT_EQ(got[64 + at], lane ^ 5);
    EXPECT_EQ(got[96 + at], lane ^ 16);
  }
}

__global__ void bits_kernel(unsigned* out) {
  const unsigned lane = threadIdx.x;
  const unsigned odd = __ballot_sync(kEveryLane, lane % 2);
  out[lane] = odd;
  if (lane == 0) {
    out[32] = static_cast<unsigned>(__popc(odd));
    out[33] = static_cast<unsigned>(__ffs(static_cast<int>(odd)));
    out[34] = static_cast<unsigned>(__ffs(0));
    out[35] = __float_as_uint(__uint_as_float(0x3f800001u));
  }
}

TEST_F(Wrapper, BallotAndBits) {
  const Buffer<unsigned> out(std::vector<unsigned>(36));
  run(bits_kernel, 32, 0, out.data());
  const std::vector<unsigned> got = out.read();
  for (size_t lane = 0; lane < 32; ++lane) EXPECT_EQ(got[lane], 0xaaaaaaaau);
  EXPECT_EQ(got[32], 16u);
  EXPECT_EQ(got[33], 2u);
  EXPECT_EQ(got[34], 0u);
  EXPECT_EQ(got[35], 0x3f800001u);
}

__global__ void atomics_kernel(int* counts, unsigned long long* least) {
  atomicAdd(counts + threadIdx.x % 3, 1);
  atomicMin(least, 1000ull - threadIdx.x);
}

TEST_F(Wrapper, Atomics) {
  const Buffer<int> counts({0, 0, 0});
  const Buffer<unsigned long long> least({1ull << 60});
  run(atomics_kernel, 256, 0, counts.data(), least.data());
  EXPECT_EQ(counts.read(), (std::vector<int>{86, 85, 85}));
  EXPECT_EQ(least.read()[0], 745ull);
}

__global__ void rounding_kernel(const float* x, int count, uint16_t* brain, uint16_t* half) {
  const int i = static_cast<int>(threadIdx.x);
  if (i >= count) return;
  brain[i] = static_cast<__nv_bfloat16_raw>(__float2bfloat16_rn(x[i])).x;
  half[i] = static_cast<__half_raw>(__float2half_rn(x[i])).x;
}

// Ties go to the even neighbour; what f16 does not hold becomes infinite or, when tiny, subnormal.
TEST_F(Wrapper, RoundingTo16Bits) {
  const std::vector<float> values = {1.0f, -2.5f, 1.00390625f, 1.01171875f, 65520.0f, 6e-8f};
  const std::vector<uint16_t> brain = {0x3f80, 0xc020, 0x3f80, 0x3f82, 0x4780, 0x3381};
  const std::vector<uint16_t> half = {0x3c00, 0xc100, 0x3c04, 0x3c0c, 0x7c00, 0x0001};
  const Buffer<float> x(values);
  const Buffer<uint16_t> as_brain(brain), as_half(half);
  run(rounding_kernel, 32, 0, x.data(), static_cast<int>(values.size()), as_brain.data(),
      as_half.data());
  EXPECT_EQ(as_brain.read(), brain);
  EXPECT_EQ(as_half.read(), half);
}

}  // namespace
