// Finds the id of a token by its text.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace tapir::app {

// A hash table that only refers to the texts, which must outlive it. Open addressing with linear
// probing, at most half full; a quarter of the cost of std::unordered_map for a large vocabulary.
class TextIndex {
 public:
  // Room for `count` texts.
  explicit TextIndex(size_t count) : entries_(std::bit_ceil(2 * count + 2)) {}

  // False, and nothing happens, if the text is there already.
  bool insert(std::string_view text, int32_t id) {
    if (2 * (count_ + 1) > entries_.size()) grow();
    const size_t hash = std::hash<std::string_view>()(text);
    Entry& entry = entries_[slot(text, hash)];
    if (entry.id >= 0) return false;
    entry = {text, hash, id};
    ++count_;
    return true;
  }

  // -1 if there is none.
  int32_t find(std::string_view text) const {
    return entries_[slot(text, std::hash<std::string_view>()(text))].id;
  }

 private:
  struct Entry {
    std::string_view text;
    size_t hash = 0;
    int32_t id = -1;
  };

  size_t slot(std::string_view text, size_t hash) const {
    size_t at = hash & (entries_.size() - 1);
    while (entries_[at].id >= 0 && (entries_[at].hash != hash || entries_[at].text != text)) {
      at = (at + 1) & (entries_.size() - 1);
    }
    return at;
  }

  void grow() {
    std::vector<Entry> old(2 * entries_.size());
    old.swap(entries_);
    for (const Entry& entry : old) {
      if (entry.id >= 0) entries_[slot(entry.text, entry.hash)] = entry;
    }
  }

  std::vector<Entry> entries_;
  size_t count_ = 0;
};

}  // namespace tapir::app
