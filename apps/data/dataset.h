// The tokens that a run trains and validates on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "apps/config/run_config.h"
#include "apps/data/token_sequence.h"
#include "apps/tokenizer/tokenizer.h"

namespace tapir::app {

// A window of validation text that is compared with the best possible loss.
struct FloorWindow {
  int64_t begin = 0;   // of its inputs, at the start of a story
  int64_t tokens = 0;  // predicted in it
  double bits = 0;     // that no model can predict them with less than, on average
};

struct Dataset {
  std::shared_ptr<const Tokenizer> tokenizer;
  TokenSequence train;
  TokenSequence validation;
  std::vector<FloorWindow> floor_windows = {};  // of the built-in corpus
  std::string name;                             // for people
  int64_t documents = 0;
  int64_t bytes = 0;  // of text
  std::vector<std::string> notes = {};

  int64_t memory_bytes() const { return train.memory_bytes() + validation.memory_bytes(); }
};

// Reads and tokenizes the text of a run. Every document is preceded by end-of-text. With 20
// documents or more the validation part is whole documents spread over the list, else the end of
// the text. Without any paths it is the built-in corpus, with validation stories of their own.
// `tokenizer`, if given, is used instead of the one that the configuration names.
Dataset load_dataset(const RunConfig& config, std::shared_ptr<const Tokenizer> tokenizer = nullptr);

// The training documents' texts, validation part and all.
std::vector<std::string> training_texts(const DataConfig& config);

// The tokenizer that a name stands for: "byte", "char" and "bpe:N" (learned from these texts), or
// the folder or file of a saved one.
std::shared_ptr<const Tokenizer> make_tokenizer(const std::string& name,
                                                const std::vector<std::string>& texts);

// Appends end-of-text and the document. Text that spells a special token is one: files often hold
// many documents separated that way.
void append_document(const Tokenizer& tokenizer, const std::string& text, TokenSequence& tokens);

}  // namespace tapir::app
