// The simulator's half of backends/cuda/device.h: what nvcc gives to kernel sources, for the host
// compiler. It is included before each kernel source (-include). NVIDIA's own headers supply the
// types and prototypes, so only bodies are made up here.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <tuple>
#include <type_traits>

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include "cudasim/simulator.h"

#undef __launch_bounds__
#define __launch_bounds__(...)
#define TAPIR_UNROLL

// Set by the scheduler whenever it switches to a thread.
extern uint3 threadIdx, blockIdx;
extern dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

// Static shared memory: one object per declaration and block, filled with NaN when a block starts.
#define TAPIR_SHARED(type, name, extent) \
  struct name##Declaration {};           \
  type(&name) extent = ::cudasim::static_shared<type extent, name##Declaration>()
#define TAPIR_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(::cudasim::dynamic_shared())

namespace cudasim {

template <typename T, typename Declaration>
T& static_shared() {
  static const char key = 0;  // its address stands for the declaration
  return *static_cast<T*>(static_shared_bytes(&key, sizeof(T), alignof(T)));
}

template <typename T>
void check_argument(const T& value, int index, bool& valid) {
  if constexpr (std::is_pointer_v<T>) valid = is_kernel_pointer(value, index) && valid;
}

}  // namespace cudasim

// Checks the launch as the runtime would, and queues it on the stream.
template <typename... Parameters, typename... Arguments>
cudaError_t launch_kernel(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes,
                          cudaStream_t stream, const Arguments&... arguments) {
  const std::tuple<Parameters...> copies(static_cast<Parameters>(arguments)...);
  bool valid = true;
  int index = 0;
  std::apply([&](const auto&... value) { (cudasim::check_argument(value, index++, valid), ...); },
             copies);
  if (!valid) return cudaErrorIllegalAddress;
  const cudasim::Launch launch{reinterpret_cast<const void*>(kernel), grid, block, shared_bytes};
  return cudasim::enqueue(launch, stream, [kernel, copies] { std::apply(kernel, copies); });
}

template <typename Kernel>
cudaError_t allow_shared_bytes(Kernel* kernel, size_t bytes) {
  return cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                              cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
}

// Barriers and warp operations. The place of the call is reported when threads do not meet.
#define CUDASIM_SITE ::cudasim::Site site = ::cudasim::Site::here()

inline void __syncthreads(CUDASIM_SITE) {
  cudasim::block_barrier(site);
}

inline void __syncwarp(unsigned mask = 0xffffffffu, CUDASIM_SITE) {
  cudasim::WarpCall call{cudasim::WarpOp::sync, mask, site};
  cudasim::meet(call);
}

namespace cudasim {

template <typename T>
T shuffle(WarpOp op, unsigned mask, T value, int argument, int width, Site site) {
  T result{};
  WarpCall call{op, mask, site, &value, &result, sizeof(T), argument, width};
  meet(call);
  return result;
}

}  // namespace cudasim

template <typename T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, CUDASIM_SITE) {
  return cudasim::shuffle(cudasim::WarpOp::shuffle_index, mask, value, lane, width, site);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, CUDASIM_SITE) {
  return cudasim::shuffle(cudasim::WarpOp::shuffle_up, mask, value, static_cast<int>(delta), width,
                          site);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, CUDASIM_SITE) {
  return cudasim::shuffle(cudasim::WarpOp::shuffle_xor, mask, value, lanes, width, site);
}
inline unsigned __ballot_sync(unsigned mask, int predicate, CUDASIM_SITE) {
  const int flag = predicate != 0;
  unsigned result = 0;
  cudasim::WarpCall call{cudasim::WarpOp::ballot, mask, site, &flag, &result, sizeof(flag)};
  cudasim::meet(call);
  return result;
}

// Atomics, with the relaxed order that they have on the device.
template <typename T>
T atomicAdd(T* address, T value) {
  static_assert(std::is_integral_v<T>, "sums of floats must have an order");
  return std::atomic_ref<T>(*address).fetch_add(value, std::memory_order_relaxed);
}
template <typename T>
T atomicMin(T* address, T value) {
  std::atomic_ref<T> target(*address);
  T old = target.load(std::memory_order_relaxed);
  while (value < old && !target.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
  }
  return old;
}

inline int __popc(unsigned bits) {
  return std::popcount(bits);
}
inline int __ffs(unsigned bits) {
  return bits == 0 ? 0 : std::countr_zero(bits) + 1;
}
inline float __uint_as_float(unsigned bits) {
  return std::bit_cast<float>(bits);
}
inline unsigned __float_as_uint(float value) {
  return std::bit_cast<unsigned>(value);
}

// The C++ twins of the PTX wrappers in backends/cuda/device.h. Layouts: PTX ISA, "Matrix
// fragments for mma.m16n8k16" and "ldmatrix".
namespace cudasim {

template <bool kBrain>
void mma_16x8x16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], Site site) {
  MmaOperands operands;
  std::copy_n(a, 4, operands.a);
  std::copy_n(b, 2, operands.b);
  std::copy_n(d, 4, operands.c);
  WarpCall call{kBrain ? WarpOp::mma_bf16 : WarpOp::mma_f16,
                0xffffffffu,
                site,
                &operands,
                d,
                sizeof(operands)};
  meet(call);
}

// 16 bytes, the unit of ldmatrix rows and of cp.async.
struct alignas(16) Chunk {
  uint64_t half[2];
};

}  // namespace cudasim

inline void mma_bf16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], CUDASIM_SITE) {
  cudasim::mma_16x8x16<true>(d, a, b, site);
}
inline void mma_f16(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], CUDASIM_SITE) {
  cudasim::mma_16x8x16<false>(d, a, b, site);
}
inline void ldmatrix_x4(uint32_t (&r)[4], const void* row, CUDASIM_SITE) {
  // Read by the lane itself, where the sanitizers see who reads.
  const cudasim::Chunk chunk = *static_cast<const cudasim::Chunk*>(row);
  cudasim::WarpCall call{cudasim::WarpOp::ldmatrix, 0xffffffffu, site, &chunk, r, sizeof(chunk)};
  cudasim::meet(call);
}
inline void ldmatrix_x4_trans(uint32_t (&r)[4], const void* row, CUDASIM_SITE) {
  const cudasim::Chunk chunk = *static_cast<const cudasim::Chunk*>(row);
  cudasim::WarpCall call{
      cudasim::WarpOp::ldmatrix_trans, 0xffffffffu, site, &chunk, r, sizeof(chunk)};
  cudasim::meet(call);
}

// The destination holds NaN from the copy on, and the data arrives as late as the model allows:
// when this thread waits for the copy's group.
inline void cp_async_16(void* shared, const void* global, bool valid) {
  *static_cast<cudasim::Chunk*>(shared) = {{~uint64_t{0}, ~uint64_t{0}}};
  cudasim::start_copy(shared, valid ? global : nullptr);
}
inline void cp_async_commit() {
  cudasim::commit_copies();
}
template <int kPending>
void cp_async_wait() {
  void* shared = nullptr;
  const void* global = nullptr;
  while (cudasim::take_copy(kPending, &shared, &global)) {
    cudasim::Chunk chunk{};  // zeros stand for a copy of no bytes
    if (global != nullptr) chunk = *static_cast<const cudasim::Chunk*>(global);
    *static_cast<cudasim::Chunk*>(shared) = chunk;
  }
}
