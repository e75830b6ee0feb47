// The four kinds of characters that pre-tokenization tells apart.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "apps/tokenizer/utf8.h"

namespace tapir::app {

enum class CharClass : uint8_t {
  kOther,     // punctuation, symbols, marks, controls
  kLetter,    // \p{L}
  kNumber,    // \p{N}
  kSpace,     // White_Space
  kInvalid,   // bytes that are not UTF-8
  kNonAscii,  // a byte from 0x80 up: decode first
};

inline constexpr std::array<CharClass, 256> kByteClass = [] {
  std::array<CharClass, 256> classes{};
  for (int byte = 0; byte < 256; ++byte) {
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    const bool number = byte >= '0' && byte <= '9';
    const bool space = byte == ' ' || (byte >= '\t' && byte <= '\r');
    classes[static_cast<size_t>(byte)] = byte >= 0x80 ? CharClass::kNonAscii
                                         : letter     ? CharClass::kLetter
                                         : number     ? CharClass::kNumber
                                         : space      ? CharClass::kSpace
                                                      : CharClass::kOther;
  }
  return classes;
}();

// White_Space of the Unicode character database, written out because PCRE2's \s also takes U+180E.
inline constexpr const char* kSpaceSet = R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a})"
                                         R"(\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

// The class of each code point, filled from PCRE2's Unicode tables the first time it is asked for.
class UnicodeClasses {
 public:
  // Letters, numbers and spaces are all in planes 0 to 3; the rest is empty, tags or private use.
  static constexpr uint32_t kTableSize = 0x40000;

  static const UnicodeClasses& get();

  CharClass of(uint32_t code_point) const {
    return code_point < kTableSize ? classes_[code_point] : CharClass::kOther;
  }

 private:
  UnicodeClasses();
  void fill(const char* set, CharClass value, const std::string& code_points);

  std::vector<CharClass> classes_;
};

struct ClassifiedChar {
  CharClass value = CharClass::kInvalid;
  uint32_t length = 0;  // in bytes, at least 1
};

inline ClassifiedChar classify(const char* begin, const char* end) {
  const CharClass ascii = kByteClass[static_cast<uint8_t>(*begin)];
  if (ascii != CharClass::kNonAscii) return {ascii, 1};
  const CodePoint decoded = decode_utf8(begin, end);
  if (decoded.length == 0) return {CharClass::kInvalid, 1};
  return {UnicodeClasses::get().of(decoded.value), decoded.length};
}

// The end of the run of characters of class `wanted` that starts at `begin`; `begin` if none does.
inline const char* skip_class(const char* begin, const char* end, CharClass wanted) {
  while (true) {
    while (begin < end && kByteClass[static_cast<uint8_t>(*begin)] == wanted) ++begin;
    if (begin == end || static_cast<uint8_t>(*begin) < 0x80) return begin;
    const ClassifiedChar next = classify(begin, end);
    if (next.value != wanted) return begin;
    begin += next.length;
  }
}

}  // namespace tapir::app
