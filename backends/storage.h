// Bytes on a device, and the counter that tells whether somebody has written to them since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "backends/device.h"

namespace tapir {

// Hands out and takes back aligned blocks. Implementations recycle, so that a training loop asks
// the system for nothing after its first step; they are safe to call from several threads.
class Allocator {
 public:
  struct Stats {
    int64_t bytes_in_use = 0;
    int64_t peak_bytes = 0;          // highest bytes_in_use since reset_peak()
    int64_t bytes_reserved = 0;      // held from the system, in use or free
    int64_t system_allocations = 0;  // how often the system was asked
  };

  virtual ~Allocator() = default;
  // At least `bytes` bytes, aligned to 64. Running out is an Error with the sizes.
  virtual void* allocate(size_t bytes) = 0;
  virtual void deallocate(void* block, size_t bytes) noexcept = 0;
  virtual Stats stats() const = 0;
  virtual void reset_peak() = 0;
  // Bytes that are still to be had, of a device with memory of its own.
  virtual std::optional<int64_t> available() const { return std::nullopt; }
};

// Bounds of i32 values.
struct IntRange {
  int32_t lowest = 0, highest = 0;
};

// One block, shared by all tensors that are views of it.
class Storage {
 public:
  Storage(Allocator& allocator, Device device, size_t bytes)
      : allocator_(&allocator), device_(device), bytes_(bytes), data_(allocator.allocate(bytes)) {}
  // Memory that `owner` holds, such as a mapped file: writable, and aligned to its elements.
  Storage(std::shared_ptr<const void> owner, Device device, void* data, size_t bytes)
      : owner_(std::move(owner)), device_(device), bytes_(bytes), data_(data) {}
  ~Storage() {
    if (allocator_ != nullptr) allocator_->deallocate(data_, bytes_);
  }
  Storage(const Storage&) = delete;
  Storage& operator=(const Storage&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Device device() const { return device_; }

  // Counts in-place writes. The tape remembers the version it saw and refuses to use changed data.
  uint64_t version() const { return version_; }
  void bump_version() { ++version_; }

  // Bounds of the i32 values that the host put here, for as long as nobody writes others. To ask a
  // GPU for them would make the host wait for all the work that it has queued.
  void remember_range(IntRange range) { range_ = {range, version_}; }
  std::optional<IntRange> known_range() const {
    if (!range_ || range_->second != version_) return std::nullopt;
    return range_->first;
  }

 private:
  Allocator* allocator_ = nullptr;  // null: the memory is the owner's
  std::shared_ptr<const void> owner_;
  Device device_;
  size_t bytes_;
  void* data_;
  uint64_t version_ = 0;
  std::optional<std::pair<IntRange, uint64_t>> range_;  // and the version that it holds for
};

}  // namespace tapir
