// One token for each byte.
#pragma once

#include <memory>

#include "apps/tokenizer/strict_json.h"
#include "apps/tokenizer/tokenizer.h"

namespace tapir::app {

// In tokenizer.json a byte tokenizer is a byte-level BPE without merges and without a pattern.
bool is_byte_tokenizer_json(const JsonValue& root);
std::unique_ptr<Tokenizer> byte_tokenizer_from_json(const JsonValue& root);

}  // namespace tapir::app
