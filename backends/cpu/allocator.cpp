#include "backends/cpu/allocator.h"

#include <bit>
#include <cstdlib>
#include <limits>

#include <sys/mman.h>
#include <sys/sysinfo.h>

#include "backends/error.h"

#if defined(__SANITIZE_ADDRESS__)
#define TAPIR_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TAPIR_ADDRESS_SANITIZER 1
#endif
#endif

namespace tapir::cpu {
namespace {

#ifdef TAPIR_ADDRESS_SANITIZER
constexpr bool kRecycle = false;
#else
constexpr bool kRecycle = true;
#endif

constexpr size_t kAlignment = 64;
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kImpossible = std::numeric_limits<size_t>::max();
// Address space of x86-64; no request above it can ever be met.
constexpr size_t kLargestRequest = size_t{1} << 47;

// Memory and swap space of the machine. The system promises more than that, and ends the process
// when it comes to use.
size_t machine_memory() {
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return kLargestRequest;
  return (size_t{info.totalram} + info.totalswap) * info.mem_unit;
}

// Null when the system has no more.
void* system_allocate(size_t bytes) {
  void* block = nullptr;
  const size_t alignment = kRecycle && bytes >= kHugePage ? kHugePage : kAlignment;
  if (posix_memalign(&block, alignment, bytes) != 0) return nullptr;
  if (alignment == kHugePage) madvise(block, bytes, MADV_HUGEPAGE);
  return block;
}

double mebibytes(size_t bytes) {
  return static_cast<double>(bytes) / (1 << 20);
}

}  // namespace

size_t block_size(size_t bytes) {
  if (bytes > kLargestRequest) return kImpossible;
  if (bytes <= 8 * kAlignment) return bytes == 0 ? kAlignment : (bytes + 63) / 64 * 64;
  const size_t step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

RecyclingAllocator::~RecyclingAllocator() {
  release_free_blocks();
}

void* RecyclingAllocator::allocate(size_t bytes) {
  const size_t size = kRecycle ? block_size(bytes) : (bytes == 0 ? 1 : bytes);
  std::lock_guard lock(mutex_);
  void* block = nullptr;
  if (auto found = free_blocks_.find(size); found != free_blocks_.end() && !found->second.empty()) {
    block = found->second.back();
    found->second.pop_back();
  } else {
    block = take_from_system(size);
  }
  if (block == nullptr) {
    fail("allocate",
         "out of memory: {:.1f} MiB asked for while {:.1f} MiB are in use, and the machine has "
         "{:.1f}; use a smaller batch, context or model, or activation checkpointing",
         mebibytes(bytes), mebibytes(static_cast<size_t>(stats_.bytes_in_use)),
         mebibytes(machine_memory()));
  }
  stats_.bytes_in_use += static_cast<int64_t>(size);
  if (stats_.bytes_in_use > stats_.peak_bytes) stats_.peak_bytes = stats_.bytes_in_use;
  return block;
}

// Asks the system. If it refuses, or if free blocks of other sizes hold more than was ever in use
// or than the machine can spare, these are given back first.
void* RecyclingAllocator::take_from_system(size_t block_bytes) {
  static const size_t limit = machine_memory();
  if (block_bytes > limit || static_cast<size_t>(stats_.bytes_in_use) > limit - block_bytes)
    return nullptr;
  const int64_t free_bytes = stats_.bytes_reserved - stats_.bytes_in_use;
  const bool hoarding = block_bytes >= kHugePage && free_bytes > stats_.peak_bytes;
  if (hoarding || static_cast<size_t>(stats_.bytes_reserved) > limit - block_bytes)
    release_locked();
  void* block = system_allocate(block_bytes);
  if (block == nullptr) {
    release_locked();
    block = system_allocate(block_bytes);
  }
  if (block != nullptr) {
    ++stats_.system_allocations;
    stats_.bytes_reserved += static_cast<int64_t>(block_bytes);
  }
  return block;
}

void RecyclingAllocator::deallocate(void* block, size_t bytes) noexcept {
  const size_t size = kRecycle ? block_size(bytes) : (bytes == 0 ? 1 : bytes);
  std::lock_guard lock(mutex_);
  stats_.bytes_in_use -= static_cast<int64_t>(size);
  if (kRecycle) {
    free_blocks_[size].push_back(block);
  } else {
    std::free(block);
    stats_.bytes_reserved -= static_cast<int64_t>(size);
  }
}

Allocator::Stats RecyclingAllocator::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void RecyclingAllocator::reset_peak() {
  std::lock_guard lock(mutex_);
  stats_.peak_bytes = stats_.bytes_in_use;
}

void RecyclingAllocator::release_free_blocks() noexcept {
  std::lock_guard lock(mutex_);
  release_locked();
}

void RecyclingAllocator::release_locked() noexcept {
  for (auto& [size, blocks] : free_blocks_) {
    for (void* block : blocks) std::free(block);
    stats_.bytes_reserved -= static_cast<int64_t>(size * blocks.size());
    blocks.clear();
  }
}

RecyclingAllocator& allocator() {
  // Never destroyed: tensors of static storage duration may outlive any static object.
  static RecyclingAllocator& instance = *new RecyclingAllocator;
  return instance;
}

}  // namespace tapir::cpu
