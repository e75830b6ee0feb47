// The pairs of neighbouring symbols that occur in the words of a training text.
#pragma once

#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace tapir::app {

struct Pair {
  int32_t left = 0;
  int32_t right = 0;
  int64_t count = 0;            // occurrences in the text
  bool learned = false;         // its merge is in the list
  bool increased = false;       // by the merge that is being applied
  std::vector<uint32_t> words;  // where it occurs, or has occurred
};

// A growing list of pairs, found by their two ids. Open addressing with linear probing, at most
// half full.
class PairSlots {
 public:
  PairSlots() : table_(size_t{1} << 12, kFree) {}

  size_t size() const { return pairs_.size(); }
  Pair& operator[](uint32_t slot) { return pairs_[slot]; }
  const Pair& operator[](uint32_t slot) const { return pairs_[slot]; }

  // The slot of the pair, which is added if it is new.
  uint32_t slot(int32_t left, int32_t right) {
    size_t at = home(left, right);
    while (table_[at] != kFree) {
      const Pair& pair = pairs_[table_[at]];
      if (pair.left == left && pair.right == right) return table_[at];
      at = (at + 1) & (table_.size() - 1);
    }
    const auto added = static_cast<uint32_t>(pairs_.size());
    pairs_.push_back({left, right, 0, false, false, {}});
    table_[at] = added;
    if (2 * pairs_.size() > table_.size()) grow();
    return added;
  }

 private:
  static constexpr uint32_t kFree = ~uint32_t{0};

  size_t home(int32_t left, int32_t right) const {
    const uint64_t key = uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
    return (key * 0x9E3779B97F4A7C15ull) >> (64 - std::countr_zero(table_.size()));
  }

  void grow() {
    table_.assign(2 * table_.size(), kFree);
    for (uint32_t slot = 0; slot < pairs_.size(); ++slot) {
      size_t at = home(pairs_[slot].left, pairs_[slot].right);
      while (table_[at] != kFree) at = (at + 1) & (table_.size() - 1);
      table_[at] = slot;
    }
  }

  std::vector<Pair> pairs_;
  std::vector<uint32_t> table_;
};

}  // namespace tapir::app
