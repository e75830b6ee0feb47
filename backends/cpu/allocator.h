// The CPU's recycling allocator, and scratch memory for kernels.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "backends/storage.h"

namespace tapir::cpu {

// Freed blocks are kept in lists by size and handed out again, because a fresh 64 MiB block costs
// about ten times a reused one to write. Blocks of 2 MiB and more start on a huge page. Under
// AddressSanitizer every request goes to the system, so that overruns are seen.
class RecyclingAllocator final : public Allocator {
 public:
  ~RecyclingAllocator() override;
  void* allocate(size_t bytes) override;
  void deallocate(void* block, size_t bytes) noexcept override;
  Stats stats() const override;
  void reset_peak() override;

  // Gives every free block back to the system.
  void release_free_blocks() noexcept;

 private:
  void* take_from_system(size_t block_bytes);
  void release_locked() noexcept;

  mutable std::mutex mutex_;
  std::map<size_t, std::vector<void*>> free_blocks_;  // by block size
  Stats stats_;
};

// The allocator behind every CPU tensor. It lives until the process ends.
RecyclingAllocator& allocator();

// The size of the block that holds `bytes`: at most an eighth larger, so that similar requests
// share blocks. SIZE_MAX when no block could.
size_t block_size(size_t bytes);

// Temporary memory of a kernel, aligned to 64 bytes, with undefined contents.
template <typename T>
class Scratch {
 public:
  explicit Scratch(int64_t count)
      : bytes_(static_cast<size_t>(count) * sizeof(T)),
        data_(static_cast<T*>(allocator().allocate(bytes_))) {}
  ~Scratch() { allocator().deallocate(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  T* data() const { return data_; }

 private:
  size_t bytes_;
  T* data_;
};

}  // namespace tapir::cpu
