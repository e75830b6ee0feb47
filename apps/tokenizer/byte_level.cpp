#include "apps/tokenizer/byte_level.h"

#include <array>
#include <cstdint>

#include "apps/tokenizer/utf8.h"

namespace tapir::app {
namespace {

constexpr uint32_t kFirstStandIn = 0x100;
constexpr uint32_t kStandInCount = 68;

constexpr bool stands_for_itself(uint32_t byte) {
  return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet {
  std::array<uint32_t, 256> char_of{};
  std::array<int, kFirstStandIn + kStandInCount> byte_of{};  // -1: no byte
};

constexpr Alphabet kAlphabet = [] {
  Alphabet alphabet;
  for (int& byte : alphabet.byte_of) byte = -1;
  uint32_t stand_in = kFirstStandIn;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const uint32_t value = stands_for_itself(byte) ? byte : stand_in++;
    alphabet.char_of[byte] = value;
    alphabet.byte_of[value] = static_cast<int>(byte);
  }
  return alphabet;
}();

}  // namespace

std::string to_byte_level(std::string_view bytes) {
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) append_utf8(text, kAlphabet.char_of[static_cast<uint8_t>(byte)]);
  return text;
}

std::optional<std::string> from_byte_level(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size());
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const CodePoint decoded = decode_utf8(at, end);
    if (decoded.length == 0 || decoded.value >= kAlphabet.byte_of.size()) return std::nullopt;
    const int byte = kAlphabet.byte_of[decoded.value];
    if (byte < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(byte));
    at += decoded.length;
  }
  return bytes;
}

}  // namespace tapir::app
