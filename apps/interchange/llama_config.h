// config.json of Llama models as Hugging Face's transformers library spells it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "apps/config/run_config.h"
#include "backends/dtype.h"

namespace tapir::app {

struct LlamaConfig {
  ModelConfig model;
  int64_t vocab_size = 0;           // rows of the embedding matrix
  std::vector<int32_t> end_tokens;  // eos_token_id, which may be a list
};

// `json` is the text of config.json, and `file` names it in messages. A field that asks for
// something that a model of this program does not do is an Error with its name and value, and so
// is an unknown field, unless its value is null or false.
LlamaConfig parse_llama_config(std::string_view json, const std::string& file);

// The ids that generation begins and ends with, where there are any.
struct BoundaryTokens {
  std::optional<int32_t> begin;
  std::vector<int32_t> ends;
};

// The text of config.json. A choice that Llama does not have is an Error that names the setting.
std::string llama_config_json(const LlamaConfig& config, const BoundaryTokens& tokens, DType dtype);

// The text of generation_config.json.
std::string llama_generation_json(const BoundaryTokens& tokens);

// Is this the kind of model that `export` can write? If not, an Error that names the setting.
void require_llama(const ModelConfig& model);

}  // namespace tapir::app
