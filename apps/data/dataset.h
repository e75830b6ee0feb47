// The tokens that a run trains and validates on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/data/token_sequence.h"
#include "apps/run_config.h"
#include "apps/tokenizer/tokenizer.h"

namespace tapir::app {

struct Dataset {
  std::shared_ptr<const Tokenizer> tokenizer;
  TokenSequence train;
  TokenSequence validation;
  int64_t documents = 0;
  int64_t bytes = 0;  // of text
  std::vector<std::string> notes;
};

// Reads and tokenizes the text. Every document is preceded by end-of-text. With 20 documents or
// more the validation part is whole documents spread over the list, else the end of the text.
Dataset load_dataset(const DataConfig& config);

// The tokenizer that a name stands for: "byte", "char" (of these texts), or the folder or file of
// a saved one.
std::shared_ptr<const Tokenizer> make_tokenizer(const std::string& name,
                                                const std::vector<std::string>& texts);

}  // namespace tapir::app
