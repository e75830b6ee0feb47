// How a byte-level BPE model is written and read: Hugging Face's tokenizer.json, and GPT-2's
// vocab.json with merges.txt.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "apps/tokenizer/bpe_model.h"
#include "apps/tokenizer/strict_json.h"

namespace tapir::app {

std::string bpe_to_json(const BpeModel& model);

// `root` is a tokenizer.json. An option that changes ids and is not honoured is an Error.
BpeModel bpe_from_json(const JsonValue& root);

// Writes vocab.json and merges.txt.
void save_gpt2(const BpeModel& model, const std::filesystem::path& dir);

// The texts of the two files. Tokens that no merge makes, and that are not bytes, are special.
BpeModel bpe_from_gpt2(std::string_view vocab_json, std::string_view merges_text);

}  // namespace tapir::app
