#include <cmath>

#include "apps/interchange/export_model.h"
#include "apps/interchange/export_tokenizer.h"
#include "apps/interchange/export_weights.h"
#include "apps/interchange/gguf_file.h"
#include "apps/interchange/llama_config.h"
#include "apps/interchange/llama_names.h"
#include "apps/tokenizer/byte_level.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOp = "export";

// llama.cpp's numbers for what most tensors of a file are.
uint32_t file_type(DType dtype) {
  return dtype == DType::f16 ? 1 : dtype == DType::bf16 ? 32 : 0;
}

void add_sizes(const nn::TransformerConfig& config, GgufFile& file) {
  const auto add = [&](const char* key, int64_t value) {
    file.add_u32(fmt::format("llama.{}", key), static_cast<uint32_t>(value));
  };
  add("vocab_size", config.vocab_size);
  add("context_length", config.max_seq_len);
  add("embedding_length", config.d_model);
  add("block_count", config.n_layers);
  add("feed_forward_length", config.feed_forward_width());
  add("attention.head_count", config.n_heads);
  add("attention.head_count_kv", config.kv_heads());
  add("rope.dimension_count", config.head_dim());
  file.add_f32("llama.attention.layer_norm_rms_epsilon", static_cast<float>(config.norm_eps));
  file.add_f32("llama.rope.freq_base", static_cast<float>(config.rope_theta.value()));
  if (config.rope_scaling.kind == nn::RopeScalingKind::linear) {
    file.add_string("llama.rope.scaling.type", "linear");
    file.add_f32("llama.rope.scaling.factor", static_cast<float>(config.rope_scaling.factor));
  }
}

// llama.cpp has no words for Llama 3's scaling: it takes a divisor for the frequency of each pair.
Tensor frequency_divisors(const nn::TransformerConfig& config) {
  const int64_t pairs = config.head_dim() / 2;
  std::vector<double> divisors;
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(2 * pairs);
    divisors.push_back(
        nn::frequency_divisor(std::pow(*config.rope_theta, exponent), config.rope_scaling));
  }
  return Tensor::from(divisors, {pairs});
}

// llama.cpp's name for the way in which text is cut into pieces.
std::string_view pre_tokenizer_name(const BpeModel& bpe) {
  // Only its Llama 3 takes pieces that are tokens as a whole without merging; others with the same
  // pattern do not. It has no word for that habit with GPT-2's pattern.
  if (bpe.rule != SplitRule::kGpt2) return bpe.ignore_merges ? "llama-bpe" : "smaug-bpe";
  require(
      !bpe.ignore_merges, kOp,
      "the tokenizer has GPT-2's pattern and ignore_merges true, which llama.cpp does not read");
  return "gpt-2";
}

void add_tokenizer(const Tokenizer& tokenizer, GgufFile& file) {
  constexpr int32_t kNormal = 1, kControl = 3, kUserDefined = 4;
  const BpeModel bpe = as_bpe(tokenizer);
  std::vector<std::string> texts, merges;
  for (const std::string& bytes : bpe.tokens) texts.push_back(to_byte_level(bytes));
  std::vector<int32_t> types(texts.size(), kNormal);
  for (const AddedToken& token : bpe.added) {
    const auto id = static_cast<size_t>(token.id);
    texts[id] = token.text;
    types[id] = token.special ? kControl : kUserDefined;
  }
  for (const Merge& merge : bpe.merges) {
    merges.push_back(texts[static_cast<size_t>(merge.left)] + " " +
                     texts[static_cast<size_t>(merge.right)]);
  }
  file.add_string("tokenizer.ggml.model", "gpt2");
  file.add_string("tokenizer.ggml.pre", pre_tokenizer_name(bpe));
  file.add_strings("tokenizer.ggml.tokens", texts);
  file.add_ints("tokenizer.ggml.token_type", types);
  file.add_strings("tokenizer.ggml.merges", merges);
  const auto end = tokenizer.end_of_text();
  const auto begin = tokenizer.begin_of_text();
  if (end) file.add_u32("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(*end));
  if (begin) file.add_u32("tokenizer.ggml.bos_token_id", static_cast<uint32_t>(*begin));
  file.add_bool("tokenizer.ggml.add_bos_token", begin.has_value());
}

}  // namespace

void export_gguf(const LoadedModel& model, const fs::path& path, DType dtype, bool overwrite) {
  require(overwrite || !fs::exists(path), kOp,
          "{} exists; choose another file with --out, or replace it with --overwrite",
          path.string());
  require(!fs::is_directory(path), kOp, "{} is a folder; name a file, such as model.gguf",
          path.string());
  const ModelConfig& settings = model.info.config.model;
  require_llama(settings);
  const auto tokenizer = exportable_tokenizer(model.tokenizer, model.info.documents);
  const nn::TransformerConfig& config = model.model->config();
  GgufFile file;
  file.add_string("general.architecture", "llama");
  file.add_string("general.name", fs::absolute(path).stem().string());
  file.add_u32("general.file_type", file_type(dtype));
  add_sizes(config, file);
  add_tokenizer(*tokenizer, file);
  if (config.rope_scaling.kind == nn::RopeScalingKind::llama3) {
    file.add_tensor("rope_freqs.weight", frequency_divisors(config));
  }
  for (const NamedTensor& parameter : model.model->named_parameters()) {
    const DType stored = parameter.tensor.rank() < 2 ? DType::f32 : dtype;
    file.add_tensor(
        gguf_name(parameter.name),
        export_weight(parameter.name, parameter.tensor, settings, RopeLayout::interleaved, stored));
  }
  file.write(path);
}

}  // namespace tapir::app
