// The parts of tokenizer.json that every kind of tokenizer writes alike.
#pragma once

#include <string>
#include <vector>

#include "apps/tokenizer/added_tokens.h"

namespace tapir::app {

// The list of added tokens.
std::string added_tokens_json(const std::vector<AddedToken>& added);

// The post-processor that puts the special token `text` in front of every text.
std::string template_json(const std::string& text, int32_t id);

// {"text": id, ...} for texts by id.
std::string vocab_json(const std::vector<std::string>& texts);

}  // namespace tapir::app
