// The parts of tokenizer.json that every kind of tokenizer writes alike.
#pragma once

#include <string>
#include <vector>

#include "apps/tokenizer/added_tokens.h"

namespace tapir::app {

// The list of added tokens.
std::string added_tokens_json(const std::vector<AddedToken>& added);

// {"text": id, ...} for texts by id.
std::string vocab_json(const std::vector<std::string>& texts);

}  // namespace tapir::app
