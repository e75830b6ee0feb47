// Remembers how recent pieces of text were merged.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apps/tokenizer/piece_key.h"

namespace tapir::app {

// For pieces of at most 16 bytes: direct-mapped, one cache line an entry, newest wins. Of fixed
// size, so that no text can make it grow.
class ShortPieceCache {
 public:
  ShortPieceCache() : lines_(size_t{1} << kIndexBits) {}

  // The ids stored for `key`, or nothing. `hash` is key.hash().
  std::span<const int32_t> find(const PieceKey& key, uint64_t hash) const {
    const Line& line = lines_[hash >> (64 - kIndexBits)];
    if (line.low != key.low || line.high != key.high || line.length != key.length) return {};
    return {line.ids.data(), line.count};
  }

  void store(const PieceKey& key, uint64_t hash, std::span<const int32_t> ids) {
    if (ids.size() > kMaxIds) return;
    Line& line = lines_[hash >> (64 - kIndexBits)];
    line.low = key.low;
    line.high = key.high;
    line.length = static_cast<uint8_t>(key.length);
    line.count = static_cast<uint8_t>(ids.size());
    std::copy(ids.begin(), ids.end(), line.ids.begin());
  }

 private:
  static constexpr int kIndexBits = 14;
  static constexpr size_t kMaxIds = 11;

  struct alignas(64) Line {
    uint64_t low = 0;
    uint64_t high = 0;
    std::array<int32_t, kMaxIds> ids{};
    uint8_t length = 0;  // 0: empty line, as no piece is
    uint8_t count = 0;
  };
  static_assert(sizeof(Line) == 64);

  std::vector<Line> lines_;
};

// For longer pieces; forgets everything when full.
class LongPieceCache {
 public:
  // The ids stored for `piece`, or nothing.
  std::span<const int32_t> find(std::string_view piece) const {
    const auto found = ids_.find(piece);
    if (found == ids_.end()) return {};
    return found->second;
  }

  void store(std::string_view piece, std::span<const int32_t> ids) {
    if (piece.size() > kMaxBytes) return;
    if (ids_.size() == kMaxPieces) ids_.clear();
    ids_.emplace(piece, std::vector<int32_t>(ids.begin(), ids.end()));
  }

 private:
  static constexpr size_t kMaxPieces = 8192;
  static constexpr size_t kMaxBytes = 256;

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::unordered_map<std::string, std::vector<int32_t>, Hash, std::equal_to<>> ids_;
};

}  // namespace tapir::app
