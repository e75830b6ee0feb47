// Tokenizers as other programs want them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/tokenizer/bpe_model.h"
#include "apps/tokenizer/tokenizer.h"

namespace tapir::app {

// The tokenizer with its habits written down: one that has end-of-text put in front of prompts
// because its model saw it in front of documents (see encode_prompt) says so itself. A character
// tokenizer is an Error, as no other program reads it.
std::shared_ptr<const Tokenizer> exportable_tokenizer(std::shared_ptr<const Tokenizer> tokenizer,
                                                      int64_t documents);

// A byte or BPE tokenizer as a list of tokens and merges; a byte tokenizer has no merges.
BpeModel as_bpe(const Tokenizer& tokenizer);

}  // namespace tapir::app
