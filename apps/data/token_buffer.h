// Token ids in memory.
#pragma once

#include <algorithm>
#include <vector>

#include "apps/data/token_source.h"
#include "apps/tokenizer/token_format.h"

namespace tapir::app {

// Ids of a vocabulary of at most 65536 take two bytes each, others four. They lie in chunks, so
// that growing neither copies them nor needs room for both copies.
class TokenBuffer : public TokenSource {
 public:
  explicit TokenBuffer(int64_t vocab_size) : wide_(vocab_size > 65536) {}

  void append(std::span<const int32_t> ids) {
    while (!ids.empty()) {
      const auto used = static_cast<size_t>(size_) % kChunk;
      if (used == 0) chunks_.emplace_back(kChunk * (wide_ ? 2 : 1));
      const std::span<const int32_t> part = ids.first(std::min(ids.size(), kChunk - used));
      if (wide_) {
        std::memcpy(chunks_.back().data() + 2 * used, part.data(), part.size_bytes());
      } else {
        std::copy(part.begin(), part.end(), chunks_.back().begin() + static_cast<ptrdiff_t>(used));
      }
      size_ += static_cast<int64_t>(part.size());
      ids = ids.subspan(part.size());
    }
  }

  int64_t size() const override { return size_; }

  void read(int64_t begin, std::span<int32_t> out) const override {
    auto at = static_cast<size_t>(begin);
    while (!out.empty()) {
      const size_t offset = at % kChunk, count = std::min(out.size(), kChunk - offset);
      const uint16_t* const chunk = chunks_[at / kChunk].data();
      if (wide_) {
        std::memcpy(out.data(), chunk + 2 * offset, count * sizeof(int32_t));
      } else {
        std::copy_n(chunk + offset, count, out.begin());
      }
      out = out.subspan(count);
      at += count;
    }
  }

  int64_t bytes_per_id_in_memory() const override { return wide_ ? 4 : 2; }

  uint64_t fingerprint() const override {
    std::vector<uint64_t> sums = {static_cast<uint64_t>(size_)};
    for (const auto& chunk : chunks_) {
      sums.push_back(token_format::checksum(chunk.data(), chunk.size() * sizeof(uint16_t)));
    }
    return token_format::checksum(sums.data(), sums.size() * sizeof(uint64_t));
  }

 private:
  static constexpr size_t kChunk = size_t{1} << 20;  // ids

  bool wide_;
  int64_t size_ = 0;
  std::vector<std::vector<uint16_t>> chunks_;  // zeros behind the last id
};

}  // namespace tapir::app
