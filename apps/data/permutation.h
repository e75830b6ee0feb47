// A random order that takes no memory.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "backends/philox.h"

namespace tapir::app {

// A permutation of 0 .. size - 1, chosen by seed and stream, of which any element can be asked for:
// a shuffle of cards in which each of many rounds pairs the positions x and K - x (mod size) at
// random and swaps every pair or not.
// Source: Hoang, Morris, Rogaway 2012, "An Enciphering Scheme Based on a Card Shuffle".
class Permutation {
 public:
  Permutation(uint64_t size, uint64_t seed, uint64_t stream)
      : size_(size), seed_(seed), stream_(stream) {}

  uint64_t operator()(uint64_t index) const {
    // A few times the logarithm of the size mixes well.
    const uint64_t rounds = 6 * static_cast<uint64_t>(std::bit_width(size_));
    for (uint64_t round = 0; round < rounds; ++round) {
      const uint64_t key = bits(round << 48 | kKeyBit) % size_;
      const uint64_t partner = key >= index ? key - index : key + size_ - index;
      const uint64_t larger = std::max(index, partner);
      if (bits(round << 48 | larger) & 1) index = partner;
    }
    return index;
  }

 private:
  static constexpr uint64_t kKeyBit = uint64_t{1} << 47;  // above every index

  uint64_t bits(uint64_t counter) const {
    const PhiloxBlock block = philox(seed_, counter, stream_);
    return static_cast<uint64_t>(block.word[1]) << 32 | block.word[0];
  }

  uint64_t size_, seed_, stream_;
};

}  // namespace tapir::app
