// What several tokenizer tests need.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace tapir::testing {

inline std::string from_hex(std::string_view hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return bytes;
}

// Random text that is rich in what tokenizers stumble over: contractions, runs of white space of
// all kinds, digits, marks, several scripts, and bytes that are not UTF-8.
class TextGenerator {
 public:
  explicit TextGenerator(uint64_t seed) : random_(seed) {}

  size_t below(size_t limit) { return random_() % limit; }

  std::string bytes(size_t size) {
    std::string text;
    while (text.size() < size) text.push_back(static_cast<char>(below(256)));
    return text;
  }

  std::string text(size_t parts, bool valid_utf8 = false) {
    static const std::vector<std::string> kParts = {"a",
                                                    "b",
                                                    "e",
                                                    "s",
                                                    "t",
                                                    "Z",
                                                    "l",
                                                    "v",
                                                    "r",
                                                    "m",
                                                    "d",
                                                    " ",
                                                    " ",
                                                    " ",
                                                    "  ",
                                                    "\n",
                                                    "\n\n",
                                                    "\t",
                                                    "\r\n",
                                                    "\v",
                                                    "\f",
                                                    "0",
                                                    "7",
                                                    "42",
                                                    "'",
                                                    "'s",
                                                    "'ll",
                                                    "'S",
                                                    "'re",
                                                    "'ve",
                                                    "\"",
                                                    ".",
                                                    ",",
                                                    "!",
                                                    "-",
                                                    "_",
                                                    "(",
                                                    "<",
                                                    "|",
                                                    ">",
                                                    "<|endoftext|>",
                                                    "the",
                                                    " of",
                                                    "\xC2\xA0",  // U+00A0
                                                    "\xC2\x85",
                                                    "\xE3\x80\x80",
                                                    "\xE2\x80\xA8",
                                                    "\xE1\xA0\x8E",
                                                    "\xE2\x80\x8B",  // spaces, near misses
                                                    "\xC3\xA9",
                                                    "e\xCC\x81",
                                                    "\xC3\x9F",
                                                    "\xC5\xBF",
                                                    "\xC2\xBD",
                                                    "\xC2\xB2",
                                                    "\xE2\x85\xA7",
                                                    "\xE6\x98\xA5",
                                                    "\xEF\xBC\x8C",
                                                    "\xED\x95\x9C",
                                                    "\xE0\xA4\xB9\xE0\xA5\x88",
                                                    "\xF0\x9F\x99\x82",
                                                    "\xF0\x9F\x87\xAF",
                                                    "\xF0\xA0\xAE\xB7",
                                                    "\xEF\xB8\x8F",
                                                    "\xE2\x80\x8D"};
    static const std::vector<std::string> kInvalid = {
        "\xFF",         "\x80",         "\xC3",     "\xE2\x82",
        "\xF0\x9F\x99", "\xED\xA0\x80", "\xC0\xAF", "\xF4\x90\x80\x80"};
    std::string text;
    for (size_t i = 0; i < parts; ++i) {
      const bool broken = !valid_utf8 && below(12) == 0;
      text += broken ? kInvalid[below(kInvalid.size())] : kParts[below(kParts.size())];
    }
    return text;
  }

 private:
  std::mt19937_64 random_;
};

}  // namespace tapir::testing
