// GPT-2's spelling of bytes as printable characters, used by vocab.json, merges.txt and
// tokenizer.json: Radford et al. 2019. Printable Latin-1 characters stand for themselves, the other
// 68 bytes for U+0100, U+0101, ... in the order of their values.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tapir::app {

// UTF-8 with one character for each byte.
std::string to_byte_level(std::string_view bytes);

// The bytes that `text` spells; empty if a character of it stands for no byte.
std::optional<std::string> from_byte_level(std::string_view text);

}  // namespace tapir::app
