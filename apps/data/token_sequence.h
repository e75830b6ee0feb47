// A long row of token ids in little memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tapir::app {

// Ids of a vocabulary of at most 65536 take two bytes each, others four.
class TokenSequence {
 public:
  explicit TokenSequence(int64_t vocab_size) : wide_(vocab_size > 65536) {}

  int64_t size() const {
    return static_cast<int64_t>(wide_ ? wide_ids_.size() : narrow_ids_.size());
  }
  int64_t memory_bytes() const { return size() * (wide_ ? 4 : 2); }
  void append(std::span<const int32_t> ids) {
    if (wide_) {
      wide_ids_.insert(wide_ids_.end(), ids.begin(), ids.end());
    } else {
      narrow_ids_.insert(narrow_ids_.end(), ids.begin(), ids.end());
    }
  }
  // Copies tokens [begin, begin + out.size()), which must exist.
  void copy(int64_t begin, std::span<int32_t> out) const {
    for (size_t i = 0; i < out.size(); ++i) {
      const size_t from = static_cast<size_t>(begin) + i;
      out[i] = wide_ ? wide_ids_[from] : narrow_ids_[from];
    }
  }

 private:
  bool wide_;
  std::vector<uint16_t> narrow_ids_;
  std::vector<int32_t> wide_ids_;
};

}  // namespace tapir::app
