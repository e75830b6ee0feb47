// Finds the tokens that are whole pieces of text.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "apps/tokenizer/piece_key.h"
#include "apps/tokenizer/text_index.h"

namespace tapir::app {

// Finds ids by short pieces. Open addressing with linear probing, at most half full.
class ShortPieceTable {
 public:
  explicit ShortPieceTable(size_t count)
      : entries_(std::bit_ceil(2 * count + 2)), shift_(64 - std::countr_zero(entries_.size())) {}

  void insert(const PieceKey& key, int32_t id) {
    Entry& entry = entries_[slot(key, key.hash())];
    entry.key = key;
    entry.id = id;
  }

  // -1 if there is none. `hash` is key.hash().
  int32_t find(const PieceKey& key, uint64_t hash) const { return entries_[slot(key, hash)].id; }

 private:
  struct Entry {
    PieceKey key;
    int32_t id = -1;
  };

  size_t slot(const PieceKey& key, uint64_t hash) const {
    size_t at = hash >> shift_;
    while (entries_[at].id >= 0 && !(entries_[at].key == key)) {
      at = (at + 1) & (entries_.size() - 1);
    }
    return at;
  }

  std::vector<Entry> entries_;
  int shift_;
};

class PieceIndex {
 public:
  explicit PieceIndex(size_t count) : short_pieces_(count), long_pieces_(0) {}

  // `piece`, which is not empty, must outlive the index.
  void insert(std::string_view piece, int32_t id) {
    if (piece.size() > PieceKey::kLongest) {
      long_pieces_.insert(piece, id);
    } else {
      const char* const begin = piece.data();
      short_pieces_.insert(make_piece_key(begin, piece.size(), begin + piece.size()), id);
    }
  }

  // -1 if there is none. `hash` is key.hash().
  int32_t find(const PieceKey& key, uint64_t hash) const { return short_pieces_.find(key, hash); }

  // The same for a piece of more than 16 bytes.
  int32_t find_long(std::string_view piece) const { return long_pieces_.find(piece); }

 private:
  ShortPieceTable short_pieces_;
  TextIndex long_pieces_;
};

}  // namespace tapir::app
