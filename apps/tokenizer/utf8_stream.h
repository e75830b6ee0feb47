// Prints generated text token by token without ever showing half a character.
#pragma once

#include <string>
#include <string_view>

#include "apps/tokenizer/utf8.h"

namespace tapir::app {

// Takes raw bytes in any portions and gives back text that is always valid UTF-8. A character
// that is not complete yet waits for the rest. Bytes that cannot be part of one become U+FFFD, one
// for each maximal ill-formed part as the Unicode standard recommends (section 3.9, U+FFFD
// substitution of maximal subparts); this is for display only, since encode and decode keep raw
// bytes.
class Utf8Stream {
 public:
  // The text that `bytes` completes.
  std::string push(std::string_view bytes) {
    pending_ += bytes;
    std::string text;
    size_t done = 0;
    while (done < pending_.size()) {
      const size_t valid = valid_utf8_prefix(std::string_view(pending_).substr(done));
      text.append(pending_, done, valid);
      done += valid;
      if (done == pending_.size()) break;
      const size_t part = maximal_subpart(std::string_view(pending_).substr(done));
      if (done + part == pending_.size() && may_continue(std::string_view(pending_).substr(done))) {
        break;
      }
      text += kReplacementCharacter;
      done += part;
    }
    pending_.erase(0, done);
    return text;
  }

  // The end of the text: what is still incomplete becomes one U+FFFD.
  std::string finish() {
    const std::string text(pending_.empty() ? std::string_view() : kReplacementCharacter);
    pending_.clear();
    return text;
  }

 private:
  // The allowed second bytes after `lead` (table 3-7 of the Unicode standard).
  static bool second_byte_fits(unsigned lead, unsigned second) {
    const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    return second >= low && second <= high;
  }

  static size_t expected_length(unsigned lead) {
    if (lead < 0xC2 || lead > 0xF4) return 1;
    return lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  }

  // The length of the longest start of a well-formed sequence, at least 1, at the front of
  // `bytes`, which do not start with a complete one.
  static size_t maximal_subpart(std::string_view bytes) {
    const auto byte = [&](size_t i) {
      return static_cast<unsigned>(static_cast<uint8_t>(bytes[i]));
    };
    const size_t expected = expected_length(byte(0));
    size_t length = 1;
    while (length < expected && length < bytes.size()) {
      const bool fits = length == 1 ? second_byte_fits(byte(0), byte(1))
                                    : byte(length) >= 0x80 && byte(length) <= 0xBF;
      if (!fits) break;
      ++length;
    }
    return length;
  }

  // Could more bytes make a character of `part`, which is a maximal subpart?
  static bool may_continue(std::string_view part) {
    return part.size() < expected_length(static_cast<uint8_t>(part[0]));
  }

  std::string pending_;  // at most three bytes between two calls
};

}  // namespace tapir::app
