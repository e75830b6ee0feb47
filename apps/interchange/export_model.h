// Models for other programs.
#pragma once

#include <filesystem>

#include "apps/training/checkpoint.h"

namespace tapir::app {

// All of these refuse a model or a tokenizer that the other program has no word for, with an Error
// that names the setting. `dtype` is f32, f16 or bf16; matrices are rounded to it.

// A folder for Hugging Face's transformers: config.json, generation_config.json,
// model.safetensors, tokenizer.json and tokenizer_config.json. It appears whole or not at all; one
// that exists is an Error unless `overwrite`.
void export_hugging_face(const LoadedModel& model, const std::filesystem::path& folder, DType dtype,
                         bool overwrite);

// A GGUF file for llama.cpp. The vectors stay in f32, as llama.cpp wants them.
void export_gguf(const LoadedModel& model, const std::filesystem::path& file, DType dtype,
                 bool overwrite);

}  // namespace tapir::app
