// The tokens that a run trains and validates on.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apps/config/run_config.h"
#include "apps/data/token_data.h"

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
  int64_t documents = 0;                        // of token files no more than the split came by
  int64_t bytes = 0;                            // of text; unknown (0) for token files
  std::vector<std::string> notes = {};

  int64_t memory_bytes() const { return train.memory_bytes() + validation.memory_bytes(); }
};

// Reads and tokenizes the text of a run, or maps its token files, and keeps a part for validation
// (split.h). Without any paths it is the built-in corpus, with validation stories of their own.
// `tokenizer`, if given, is used instead of the one that the configuration names.
Dataset load_dataset(const RunConfig& config, std::shared_ptr<const Tokenizer> tokenizer = nullptr);

// Hands a whole text, in portions, to `add_text`, and calls `end_document` behind each document.
using TextPass = std::function<void(const std::function<void(std::string_view)>& add_text,
                                    const std::function<void()>& end_document)>;

// The tokenizer that a name stands for: "byte", "char" and "bpe:N" (learned from the text), or the
// folder or file of a saved one.
std::shared_ptr<const Tokenizer> make_tokenizer(const std::string& name, const TextPass& text);

// All text that a run was trained and validated on, as it was read or as its tokens spell it.
void read_training_text(const DataConfig& config, const Tokenizer& tokenizer,
                        const std::function<void(std::string_view)>& add_text,
                        const std::function<void()>& end_document);

}  // namespace tapir::app
