// The state of a stream of random numbers: 16 bytes that a checkpoint can hold.
#pragma once

#include <cstdint>

namespace tapir {

// Operations take a Generator by reference and reserve what they draw, so that the same seed and
// the same sequence of calls give the same numbers on every device and thread count.
class Generator {
 public:
  explicit Generator(uint64_t seed = 0, uint64_t offset = 0) : seed_(seed), offset_(offset) {}

  uint64_t seed() const { return seed_; }
  uint64_t offset() const { return offset_; }  // in Philox blocks of four 32-bit words

  // The offset of a fresh range that holds `words` 32-bit words.
  uint64_t reserve(uint64_t words) {
    const uint64_t start = offset_;
    offset_ += (words + 3) / 4;
    return start;
  }

  // One number, for host code: uniform on [0, 1), and uniform on {0, ..., bound - 1}.
  double uniform();
  uint64_t below(uint64_t bound);

  bool operator==(const Generator&) const = default;

 private:
  uint64_t seed_;
  uint64_t offset_;
};

}  // namespace tapir
