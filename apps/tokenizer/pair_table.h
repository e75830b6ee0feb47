// Hash table from a pair of token ids to the merge that joins them.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <vector>

namespace tapir::app {

inline constexpr int32_t kNoRank = std::numeric_limits<int32_t>::max();

// Open addressing with linear probing, at most half full.
class PairTable {
 public:
  struct Entry {
    uint64_t pair = kEmpty;
    int32_t rank = kNoRank;  // position in the list of merges
    int32_t product = -1;
  };

  explicit PairTable(size_t count)
      : entries_(std::bit_ceil(2 * count + 2)), shift_(64 - std::countr_zero(entries_.size())) {}

  // False, and nothing happens, if the pair is there already.
  bool insert(int32_t left, int32_t right, int32_t rank, int32_t product) {
    Entry& entry = entries_[slot(key(left, right))];
    if (entry.pair != kEmpty) return false;
    entry = {key(left, right), rank, product};
    return true;
  }

  // An entry with rank kNoRank if no merge joins the two.
  const Entry& find(int32_t left, int32_t right) const { return entries_[slot(key(left, right))]; }

 private:
  static constexpr uint64_t kEmpty = ~uint64_t{0};

  static uint64_t key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }

  // Where the pair is, or the free place where it would go.
  size_t slot(uint64_t pair) const {
    size_t at = (pair * 0x9E3779B97F4A7C15ull) >> shift_;
    while (entries_[at].pair != pair && entries_[at].pair != kEmpty) {
      at = (at + 1) & (entries_.size() - 1);
    }
    return at;
  }

  std::vector<Entry> entries_;
  int shift_;
};

}  // namespace tapir::app
