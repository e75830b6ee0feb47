#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "apps/files.h"
#include "apps/generation/prompt.h"
#include "apps/interchange/export_model.h"
#include "apps/interchange/export_tokenizer.h"
#include "apps/interchange/export_weights.h"
#include "apps/interchange/llama_config.h"
#include "apps/interchange/llama_names.h"
#include "apps/tokenizer/file_io.h"
#include "autograd/ops.h"
#include "autograd/serialize.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::string_view kOp = "export";

constexpr const char* kConfig = "config.json";
constexpr const char* kGenerationConfig = "generation_config.json";
constexpr const char* kTokenizer = "tokenizer.json";
constexpr const char* kTokenizerConfig = "tokenizer_config.json";
constexpr const char* kWeights = "model.safetensors";
constexpr std::array kFiles = {kConfig, kGenerationConfig, kTokenizer, kTokenizerConfig, kWeights};

// The folder itself, without links and a slash at the end.
fs::path real_place(const fs::path& folder) {
  const fs::path place = fs::weakly_canonical(fs::absolute(folder));
  return place.has_filename() ? place : place.parent_path();
}

// A new export takes the place of the whole folder, so nothing but an earlier one may be in it.
void require_replaceable(const fs::path& folder, bool overwrite) {
  if (!fs::exists(folder)) return;
  require(overwrite, kOp,
          "{} exists; choose another place with --out, or replace it with --overwrite",
          folder.string());
  require(fs::is_directory(folder), kOp, "{} is a file; name a folder with --out", folder.string());
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    require(std::find(kFiles.begin(), kFiles.end(), name) != kFiles.end(), kOp,
            "{} holds {}, which no export wrote and --overwrite would remove; choose another place "
            "with --out",
            folder.string(), name);
  }
}

// Llama has biases in q, k, v and the output projection, or in none of them: those that this model
// lacks are zeros.
void add_missing_biases(const ModelConfig& model, DType dtype, StateDict& tensors) {
  if (model.qkv_bias == model.output_bias) return;
  const int64_t head_dim = model.d_model / model.heads;
  const int64_t kv_width = head_dim * model.kv_heads.value_or(model.heads);
  const auto add = [&](int64_t layer, const char* name, int64_t width) {
    const std::string key = fmt::format("layers.{}.attn.{}.bias", layer, name);
    tensors.try_emplace(hugging_face_name(key), Tensor::zeros({width}, dtype));
  };
  for (int64_t layer = 0; layer < model.layers; ++layer) {
    add(layer, "q_proj", model.d_model);
    add(layer, "k_proj", kv_width);
    add(layer, "v_proj", kv_width);
    add(layer, "output_proj", model.d_model);
  }
}

StateDict hugging_face_tensors(const LoadedModel& model, DType dtype) {
  const ModelConfig& config = model.info.config.model;
  StateDict tensors;
  for (const NamedTensor& parameter : model.model->named_parameters()) {
    tensors[hugging_face_name(parameter.name)] =
        export_weight(parameter.name, parameter.tensor, config, RopeLayout::half_split, dtype);
  }
  add_missing_biases(config, dtype, tensors);
  return tensors;
}

std::string tokenizer_config(const Tokenizer& tokenizer, const BoundaryTokens& tokens,
                             int64_t context) {
  Json json = {{"tokenizer_class", "PreTrainedTokenizerFast"},
               {"model_max_length", context},
               {"clean_up_tokenization_spaces", false},
               {"add_bos_token", tokens.begin.has_value()},
               {"add_eos_token", false}};
  if (tokens.begin) json["bos_token"] = tokenizer.token_bytes(*tokens.begin);
  if (!tokens.ends.empty()) json["eos_token"] = tokenizer.token_bytes(tokens.ends[0]);
  return json.dump(2) + "\n";
}

}  // namespace

void export_hugging_face(const LoadedModel& model, const fs::path& folder, DType dtype,
                         bool overwrite) {
  const fs::path target = real_place(folder);
  require_replaceable(target, overwrite);
  const LlamaConfig config{model.info.config.model, model.tokenizer->vocab_size(), {}};
  require_llama(config.model);
  const auto tokenizer = exportable_tokenizer(model.tokenizer, model.info.documents);
  const BoundaryTokens tokens{tokenizer->begin_of_text(),
                              end_ids(*tokenizer, model.info.end_tokens)};
  const fs::path temporary = target.parent_path() / ("." + target.filename().string() + ".new");
  std::error_code error;
  fs::remove_all(temporary, error);
  fs::create_directories(temporary, error);
  require(!error, kOp, "cannot create {}: {}", temporary.string(), error.message());
  const RemovedUnlessMoved remover{temporary};
  write_file(temporary / kConfig, llama_config_json(config, tokens, dtype));
  write_file(temporary / kGenerationConfig, llama_generation_json(tokens));
  write_file(temporary / kTokenizer, tokenizer_to_json(*tokenizer));
  write_file(temporary / kTokenizerConfig,
             tokenizer_config(*tokenizer, tokens, config.model.context));
  // transformers looks for the format here.
  save_safetensors(temporary / kWeights, hugging_face_tensors(model, dtype), {{"format", "pt"}});
  move_folder_into_place(temporary, target);
}

}  // namespace tapir::app
