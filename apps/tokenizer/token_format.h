// The layout of a token file. All numbers are little-endian.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tapir::app::token_format {

static_assert(std::endian::native == std::endian::little, "token files are mapped as they lie");

inline constexpr char kMagic[8] = {'T', 'A', 'P', 'I', 'R', 'T', 'O', 'K'};
inline constexpr uint32_t kVersion = 1;
inline constexpr size_t kHashDigits = 16;

// The ids follow in blocks of this many bytes, the last one shorter; then, from the next multiple
// of eight on, the checksum of each block, and last the checksum of all bytes behind the ids.
inline constexpr size_t kBlockBytes = size_t{64} << 10;

struct Header {
  char magic[8];
  uint32_t version;
  uint32_t bytes_per_id;  // 2 or 4
  char tokenizer_hash[kHashDigits];
  uint64_t count;  // of ids
  uint32_t vocab_size;
  uint32_t reserved;         // 0
  uint64_t block_bytes;      // kBlockBytes
  uint64_t header_checksum;  // of the bytes before it
};
static_assert(sizeof(Header) == 64);
static_assert(offsetof(Header, header_checksum) == 56);

// A 64-bit checksum at memory speed: four lanes, each of which a changed word is sure to change,
// since xor, multiplying by an odd number and rotating can all be undone.
inline uint64_t checksum(const void* data, size_t size) {
  constexpr uint64_t kPrime = 0x9E3779B97F4A7C15ull;
  uint64_t lanes[4] = {1, 2, 3, 4};
  const auto* bytes = static_cast<const uint8_t*>(data);
  const auto mix = [](uint64_t lane, uint64_t word) {
    return std::rotl((lane ^ word) * kPrime, 29);
  };
  size_t at = 0;
  for (; at + 32 <= size; at += 32) {
    uint64_t words[4];
    std::memcpy(words, bytes + at, 32);
    for (int i = 0; i < 4; ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  for (; at < size; ++at) lanes[0] = mix(lanes[0], bytes[at]);
  uint64_t sum = mix(kPrime, size);
  for (const uint64_t lane : lanes) sum = mix(sum, lane);
  return sum;
}

inline constexpr uint64_t round_up_to_8(uint64_t bytes) {
  return (bytes + 7) / 8 * 8;
}

}  // namespace tapir::app::token_format
