// From --data to tokens.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/data/text_input.h"
#include "apps/data/token_sequence.h"
#include "apps/tokenizer/tokenizer.h"

namespace tapir::app {

struct TokenData {
  TokenSequence tokens;
  // Where documents begin: of text each of them, of token files none (they may be too large to
  // look).
  std::vector<int64_t> document_starts = {};
  bool from_token_files = false;
  int64_t bytes = 0;  // of text; unknown (0) for token files
  std::vector<std::string> notes = {};
};

// The files behind --data, which hold either text or tokens.
class DataFiles {
 public:
  // Paths as of find_input_files. Text beside token files is an Error.
  DataFiles(const std::vector<std::string>& paths, const std::string& jsonl_field);

  bool hold_tokens() const { return !token_files_.empty(); }
  // The first token file's name.
  const std::string& token_file() const { return token_files_.at(0); }
  // Of text files only.
  TextInput& text() { return text_; }

  // All tokens. Text is encoded, with end-of-text in front of each document; text that spells a
  // special token is one, because files often hold many documents separated that way. Token files
  // are mapped into memory; one made with another tokenizer is an Error, and so is text that needs
  // more memory for its tokens than there is.
  TokenData load(const Tokenizer& tokenizer);

 private:
  TokenData encode_text(const Tokenizer& tokenizer);
  TokenData map_token_files(const Tokenizer& tokenizer) const;

  InputFiles files_;
  std::vector<std::string> token_files_;
  TextInput text_;
};

// An Error if `bytes` of tokens are more than the `available` memory.
void require_room_for_tokens(int64_t bytes, int64_t available);

}  // namespace tapir::app
