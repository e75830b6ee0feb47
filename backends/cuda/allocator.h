// Device memory that is recycled in the order of the stream.
#pragma once

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/storage.h"

namespace tapir::cuda {

// Freed blocks are kept by size and handed out again at once, without waiting: everything runs on
// one stream, so work of the new owner starts after that of the old one. A training loop asks the
// driver for nothing after its first steps.
class StreamAllocator final : public Allocator {
 public:
  // Without recycling every request goes to the driver, for memory checkers.
  explicit StreamAllocator(bool recycle = true) : recycle_(recycle) {}

  void* allocate(size_t bytes) override;
  void deallocate(void* block, size_t bytes) noexcept override;
  Stats stats() const override;
  void reset_peak() override;
  std::optional<int64_t> available() const override;

  // Between the two, nothing goes back to the driver: work that was asked for has not begun.
  void hold();
  void end_hold() noexcept;

 private:
  void* take_from_driver(size_t bytes);
  void give_back(void* block, size_t size) noexcept;
  void release_free_blocks() noexcept;

  const bool recycle_;
  mutable std::mutex mutex_;
  std::map<size_t, std::vector<void*>> free_blocks_;  // by block size
  bool holding_ = false;
  std::vector<std::pair<void*, size_t>> held_;  // freed while holding, without recycling
  Stats stats_;
};

// The size of the block that holds `bytes`: a multiple of 256, and at most an eighth larger, so
// that similar requests share blocks.
size_t block_size(size_t bytes);

}  // namespace tapir::cuda
