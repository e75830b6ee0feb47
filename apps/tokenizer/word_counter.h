// Counts how often each piece of text occurs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apps/tokenizer/piece_key.h"

namespace tapir::app {

class WordCounter {
 public:
  // Counts [begin, end), which is not empty. `text_end` >= end is the end of the text around it.
  void add(const char* begin, const char* end, const char* text_end) {
    const auto length = static_cast<size_t>(end - begin);
    if (length <= PieceKey::kLongest) {
      add_short(make_piece_key(begin, length, text_end), 1);
    } else {
      add_long(std::string_view(begin, length), 1);
    }
  }

  void add_all(const WordCounter& other);

  // The number of different words.
  size_t size() const { return short_count_ + long_words_.size(); }

  void clear();

  // Forgets the rarest words until at most `target` are left: all that occur once, then all that
  // occur at most twice, and so on.
  void drop_rarest(size_t target);

  // Calls visit(word, count) for every word, in no particular order.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const Entry& entry : short_words_) {
      if (entry.count > 0) visit(piece_bytes(entry.key), entry.count);
    }
    for (const auto& [word, count] : long_words_) visit(std::string_view(word), count);
  }

 private:
  struct Entry {
    PieceKey key;
    uint64_t count = 0;  // 0: free
  };

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  void add_short(const PieceKey& key, uint64_t count) {
    if (2 * short_count_ >= short_words_.size()) grow();
    Entry& entry = short_words_[slot(key)];
    if (entry.count == 0) {
      entry.key = key;
      ++short_count_;
    }
    entry.count += count;
  }

  size_t slot(const PieceKey& key) const {
    size_t at = key.hash() & (short_words_.size() - 1);
    while (short_words_[at].count > 0 && !(short_words_[at].key == key)) {
      at = (at + 1) & (short_words_.size() - 1);
    }
    return at;
  }

  void add_long(std::string_view word, uint64_t count);
  void grow();

  std::vector<Entry> short_words_;  // open addressing with linear probing, at most half full
  size_t short_count_ = 0;
  std::unordered_map<std::string, uint64_t, Hash, std::equal_to<>> long_words_;
};

}  // namespace tapir::app
