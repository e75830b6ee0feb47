// Reading a Llama model from a folder as Hugging Face's transformers library writes it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "apps/config/run_config.h"
#include "apps/tokenizer/tokenizer.h"
#include "autograd/state_dict.h"

namespace tapir::app {

struct LlamaFolder {
  ModelConfig config;
  std::shared_ptr<const Tokenizer> tokenizer;
  StateDict weights;  // under the names of this program, in the dtype of the file, mapped
  std::vector<int32_t> end_tokens;  // of config.json, where a text ends
  std::vector<std::string> notes;   // for people: what of the folder is not used
};

// Does the folder hold a config.json, as such models do?
bool is_llama_folder(const std::filesystem::path& folder);

// Reads config.json, tokenizer.json (or vocab.json with merges.txt), and model.safetensors or the
// files that model.safetensors.index.json lists. Whatever is missing, damaged or cannot be
// represented is an Error that names the file and the field or tensor. A vocabulary that is padded
// beyond the tokenizer's is cut to it, with a note.
LlamaFolder read_llama_folder(const std::filesystem::path& folder);

// The configuration of a run that the model in `folder` could come from.
RunConfig run_config_of(const LlamaFolder& llama, const std::filesystem::path& folder);

}  // namespace tapir::app
