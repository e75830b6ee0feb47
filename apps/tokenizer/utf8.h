// UTF-8, one code point at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tapir::app {

inline constexpr uint32_t kCodePointCount = 0x110000;
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";  // U+FFFD

struct CodePoint {
  uint32_t value = 0;
  uint32_t length = 0;  // in bytes; 0: the bytes are not well-formed
};

// The code point that starts at `begin` < `end`. Well-formed as in table 3-7 of the Unicode
// standard: no overlong forms, no surrogates, nothing above U+10FFFF.
inline CodePoint decode_utf8(const char* begin, const char* end) {
  const auto byte = [begin](int i) {
    return static_cast<uint32_t>(static_cast<uint8_t>(begin[i]));
  };
  const auto continues = [&](int i) { return (byte(i) & 0xC0u) == 0x80u; };
  const std::ptrdiff_t available = end - begin;
  const uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xC2) return {};
  if (first < 0xE0) {
    if (available < 2 || !continues(1)) return {};
    return {(first & 0x1Fu) << 6 | (byte(1) & 0x3Fu), 2};
  }
  if (first < 0xF0) {
    if (available < 3 || !continues(1) || !continues(2)) return {};
    const uint32_t value = (first & 0x0Fu) << 12 | (byte(1) & 0x3Fu) << 6 | (byte(2) & 0x3Fu);
    if (value < 0x800 || (value >= 0xD800 && value < 0xE000)) return {};
    return {value, 3};
  }
  if (first > 0xF4 || available < 4 || !continues(1) || !continues(2) || !continues(3)) return {};
  const uint32_t value =
      (first & 0x07u) << 18 | (byte(1) & 0x3Fu) << 12 | (byte(2) & 0x3Fu) << 6 | (byte(3) & 0x3Fu);
  if (value < 0x10000 || value >= kCodePointCount) return {};
  return {value, 4};
}

// `value` must be a code point that is not a surrogate.
inline void append_utf8(std::string& text, uint32_t value) {
  const auto put = [&text](uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0 | value >> 6);
    put(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    put(0xE0 | value >> 12);
    put(0x80 | (value >> 6 & 0x3F));
    put(0x80 | (value & 0x3F));
  } else {
    put(0xF0 | value >> 18);
    put(0x80 | (value >> 12 & 0x3F));
    put(0x80 | (value >> 6 & 0x3F));
    put(0x80 | (value & 0x3F));
  }
}

// How many bytes at the front of `text` are well-formed UTF-8.
inline size_t valid_utf8_prefix(std::string_view text) {
  const char* const end = text.data() + text.size();
  const char* at = text.data();
  while (at < end) {
    const uint32_t length = decode_utf8(at, end).length;
    if (length == 0) break;
    at += length;
  }
  return static_cast<size_t>(at - text.data());
}

inline bool is_valid_utf8(std::string_view text) {
  return valid_utf8_prefix(text) == text.size();
}

}  // namespace tapir::app
