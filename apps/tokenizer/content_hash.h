// A 64-bit hash of contents that never changes between versions of the program: FNV-1a.
// Source: G. Fowler, L. C. Noll, K.-P. Vo, "The FNV Non-Cryptographic Hash Algorithm".
#pragma once

#include <cstdint>
#include <string_view>

namespace tapir::app {

class ContentHash {
 public:
  void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * 0x100000001b3ull; }

  // Little-endian, eight bytes.
  void add_number(uint64_t number) {
    for (int shift = 0; shift < 64; shift += 8) {
      add_byte(static_cast<unsigned char>(number >> shift));
    }
  }

  // The length goes in too, so that ("ab", "c") and ("a", "bc") differ.
  void add(std::string_view bytes) {
    add_number(bytes.size());
    for (const char byte : bytes) add_byte(static_cast<unsigned char>(byte));
  }

  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325ull;
};

}  // namespace tapir::app
