// Text of a file or user in a message.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "apps/tokenizer/utf8.h"

namespace tapir::app {

// The text on one line that no terminal takes for a command: control characters as \u001b, bytes
// that are not UTF-8 as \xff, and "..." for what follows the first `most` bytes or so.
inline std::string excerpt(std::string_view text, size_t most = 60) {
  const auto is_control = [](uint32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); };
  std::string shown;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data(); at < end;) {
    if (shown.size() >= most) return shown + "...";
    const CodePoint decoded = decode_utf8(at, end);
    if (decoded.length == 0) {
      shown += fmt::format("\\x{:02x}", static_cast<uint8_t>(*at));
    } else if (is_control(decoded.value)) {
      shown += fmt::format("\\u{:04x}", decoded.value);
    } else {
      shown.append(at, decoded.length);
    }
    at += std::max(decoded.length, 1u);
  }
  return shown;
}

inline std::string quoted_excerpt(std::string_view text) {
  return '"' + excerpt(text) + '"';
}

}  // namespace tapir::app
