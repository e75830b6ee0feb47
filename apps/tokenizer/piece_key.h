// Pieces of text as hash keys. Nearly all are short enough to live in two registers.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace tapir::app {

static_assert(std::endian::native == std::endian::little, "piece keys load bytes as they lie");

// At most 16 bytes, padded with zeros.
struct PieceKey {
  static constexpr size_t kLongest = 16;

  uint64_t low = 0;   // the first eight bytes
  uint64_t high = 0;  // the next eight, which lie right behind them
  uint32_t length = 0;

  bool operator==(const PieceKey&) const = default;

  uint64_t hash() const {
    uint64_t mixed = (low ^ 0x9E3779B97F4A7C15ull * length) * 0xBF58476D1CE4E5B9ull;
    mixed ^= (high + 0x94D049BB133111EBull) * 0xD6E8FEB86659FD93ull;
    mixed ^= mixed >> 32;
    return mixed * 0x9E3779B97F4A7C15ull;
  }
};

// The key of [begin, begin + length), length <= 16. `end` is the end of the text around it: as far
// as that, bytes may be read that the piece does not include.
inline PieceKey make_piece_key(const char* begin, size_t length, const char* end) {
  PieceKey key;
  key.length = static_cast<uint32_t>(length);
  if (end - begin < static_cast<std::ptrdiff_t>(PieceKey::kLongest)) {
    char padded[PieceKey::kLongest] = {};
    std::memcpy(padded, begin, length);
    std::memcpy(&key.low, padded, 8);
    std::memcpy(&key.high, padded + 8, 8);
    return key;
  }
  std::memcpy(&key.low, begin, 8);
  if (length < 8) {
    key.low &= (uint64_t{1} << (8 * length)) - 1;
  } else if (length > 8) {
    std::memcpy(&key.high, begin + 8, 8);
    if (length < 16) key.high &= (uint64_t{1} << (8 * (length - 8))) - 1;
  }
  return key;
}

// The bytes of `key`, which must outlive them.
inline std::string_view piece_bytes(const PieceKey& key) {
  return {reinterpret_cast<const char*>(&key.low), key.length};
}

}  // namespace tapir::app
