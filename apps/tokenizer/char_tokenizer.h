// One token for each character of a training text, and bytes for the rest.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "apps/tokenizer/strict_json.h"
#include "apps/tokenizer/tokenizer.h"

namespace tapir::app {

// Collects the characters of a text that may come in any portions.
class CharTrainer {
 public:
  void add_text(std::string_view text);

  // Ids 0 .. 255 are the bytes, which are the ASCII characters too; then come the other characters
  // that were seen, by code point; the last id is <|endoftext|>.
  std::unique_ptr<Tokenizer> train() const;

 private:
  std::string pending_;      // a character whose end has not come yet
  std::set<uint32_t> seen_;  // from U+0080 up
};

// `characters` ascending, from U+0080 up.
std::unique_ptr<Tokenizer> make_char_tokenizer(std::vector<uint32_t> characters);

// In tokenizer.json a char tokenizer is a BPE without merges whose unknown characters fall back to
// the tokens <0x00> to <0xFF>.
bool is_char_tokenizer_json(const JsonValue& root);
std::unique_ptr<Tokenizer> char_tokenizer_from_json(const JsonValue& root);

}  // namespace tapir::app
