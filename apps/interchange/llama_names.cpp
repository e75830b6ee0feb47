#include "apps/interchange/llama_names.h"

#include <array>

#include "backends/error.h"

namespace tapir::app {
namespace {

struct Names {
  std::string_view tapir, hugging_face, gguf;
};

constexpr std::array<Names, 3> kOutside = {
    {{"token_embeddings", "model.embed_tokens", "token_embd"},
     {"ln_final", "model.norm", "output_norm"},
     {"lm_head", "lm_head", "output"}}};

constexpr std::array<Names, 9> kInBlocks = {
    {{"ln1", "input_layernorm", "attn_norm"},
     {"attn.q_proj", "self_attn.q_proj", "attn_q"},
     {"attn.k_proj", "self_attn.k_proj", "attn_k"},
     {"attn.v_proj", "self_attn.v_proj", "attn_v"},
     {"attn.output_proj", "self_attn.o_proj", "attn_output"},
     {"ln2", "post_attention_layernorm", "ffn_norm"},
     {"ffn.w1", "mlp.gate_proj", "ffn_gate"},
     {"ffn.w2", "mlp.down_proj", "ffn_down"},
     {"ffn.w3", "mlp.up_proj", "ffn_up"}}};

constexpr std::string_view kBlocks = "layers.";

// The other name of a parameter: `prefix` stands for "layers.", `column` chooses the spelling.
std::string translate(std::string_view name, std::string_view prefix,
                      std::string_view Names::*column) {
  const size_t dot = name.rfind('.');
  const std::string_view kind = name.substr(dot + 1);  // weight or bias
  std::string_view layer = name.substr(0, dot);
  if (!layer.starts_with(kBlocks)) {
    for (const Names& names : kOutside) {
      if (names.tapir == layer) return fmt::format("{}.{}", names.*column, kind);
    }
    fail("interchange", "Llama models have no parameter {}", name);
  }
  layer.remove_prefix(kBlocks.size());
  const size_t end = layer.find('.');
  for (const Names& names : kInBlocks) {
    if (names.tapir == layer.substr(end + 1)) {
      return fmt::format("{}{}.{}.{}", prefix, layer.substr(0, end), names.*column, kind);
    }
  }
  fail("interchange", "Llama models have no parameter {}", name);
}

}  // namespace

std::string hugging_face_name(std::string_view name) {
  return translate(name, "model.layers.", &Names::hugging_face);
}

std::string gguf_name(std::string_view name) {
  return translate(name, "blk.", &Names::gguf);
}

}  // namespace tapir::app
