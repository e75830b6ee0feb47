#include "backends/cuda/allocator.h"

#include <bit>

#include <cuda_runtime_api.h>

#include "backends/cuda/context.h"
#include "backends/error.h"

namespace tapir::cuda {
namespace {

constexpr size_t kAlignment = 256;
// No device has more, and sizes up to here are safe to round.
constexpr size_t kLargestRequest = size_t{1} << 47;

double mebibytes(int64_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

}  // namespace

size_t block_size(size_t bytes) {
  if (bytes <= 8 * kAlignment) {
    return bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  const size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

void* StreamAllocator::allocate(size_t bytes) {
  const size_t size = recycle_ ? block_size(bytes) : (bytes == 0 ? 1 : bytes);
  std::lock_guard lock(mutex_);
  void* block = nullptr;
  if (auto found = free_blocks_.find(size); found != free_blocks_.end() && !found->second.empty()) {
    block = found->second.back();
    found->second.pop_back();
  } else if (bytes <= kLargestRequest) {
    block = take_from_driver(size);
  }
  if (block == nullptr) {
    size_t free_bytes = 0, total = 0;
    cudaMemGetInfo(&free_bytes, &total);
    fail("allocate",
         "the GPU is out of memory: {:.1f} MiB asked for while {:.1f} MiB are in use and {:.1f} of "
         "{:.1f} MiB are free; use a smaller batch (with accumulation), context or model, or "
         "activation checkpointing",
         mebibytes(static_cast<int64_t>(bytes)), mebibytes(stats_.bytes_in_use),
         mebibytes(static_cast<int64_t>(free_bytes)), mebibytes(static_cast<int64_t>(total)));
  }
  stats_.bytes_in_use += static_cast<int64_t>(size);
  if (stats_.bytes_in_use > stats_.peak_bytes) stats_.peak_bytes = stats_.bytes_in_use;
  return block;
}

// When the driver has no more, the free blocks of other sizes are given back first.
void* StreamAllocator::take_from_driver(size_t bytes) {
  void* block = nullptr;
  if (cudaMalloc(&block, bytes) != cudaSuccess) {
    cudaGetLastError();  // forget the failure
    release_free_blocks();
    if (cudaMalloc(&block, bytes) != cudaSuccess) {
      cudaGetLastError();
      return nullptr;
    }
  }
  ++stats_.system_allocations;
  stats_.bytes_reserved += static_cast<int64_t>(bytes);
  return block;
}

void StreamAllocator::deallocate(void* block, size_t bytes) noexcept {
  const size_t size = recycle_ ? block_size(bytes) : (bytes == 0 ? 1 : bytes);
  std::lock_guard lock(mutex_);
  stats_.bytes_in_use -= static_cast<int64_t>(size);
  if (recycle_) {
    free_blocks_[size].push_back(block);
  } else if (holding_) {
    held_.emplace_back(block, size);
  } else {
    give_back(block, size);
  }
}

void StreamAllocator::hold() {
  std::lock_guard lock(mutex_);
  holding_ = true;
}

void StreamAllocator::end_hold() noexcept {
  std::lock_guard lock(mutex_);
  holding_ = false;
  for (const auto& [block, size] : held_) give_back(block, size);
  held_.clear();
}

// cudaFree waits for the device, so no kernel still uses what is given back.
void StreamAllocator::give_back(void* block, size_t size) noexcept {
  cudaFree(block);
  stats_.bytes_reserved -= static_cast<int64_t>(size);
}

Allocator::Stats StreamAllocator::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void StreamAllocator::reset_peak() {
  std::lock_guard lock(mutex_);
  stats_.peak_bytes = stats_.bytes_in_use;
}

// Free blocks of other sizes would be given back before a request fails.
std::optional<int64_t> StreamAllocator::available() const {
  size_t free_bytes = 0, total = 0;
  check(cudaMemGetInfo(&free_bytes, &total), "cudaMemGetInfo");
  std::lock_guard lock(mutex_);
  return static_cast<int64_t>(free_bytes) + stats_.bytes_reserved - stats_.bytes_in_use;
}

void StreamAllocator::release_free_blocks() noexcept {
  if (holding_) return;
  for (auto& [size, blocks] : free_blocks_) {
    for (void* block : blocks) give_back(block, size);
    blocks.clear();
  }
}

}  // namespace tapir::cuda
