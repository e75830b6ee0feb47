// From a prompt to token ids, in one way for everything that continues text.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "apps/tokenizer/tokenizer.h"

namespace tapir::app {

// The prompt's ids, behind what the tokenizer itself puts in front of every text, if anything. A
// model that was trained on several documents saw end-of-text in front of each and gets it here
// too; one that read a single text hardly knows that token, and starts an empty prompt with a new
// line instead. `special` is what a special token that the prompt spells becomes.
std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, int64_t documents,
                                   std::string_view prompt,
                                   SpecialText special = SpecialText::kAsText);

// The ids at which a text ends, each once: those of the model, then the tokenizer's end-of-text.
std::vector<int32_t> end_ids(const Tokenizer& tokenizer, std::span<const int32_t> of_model);

}  // namespace tapir::app
