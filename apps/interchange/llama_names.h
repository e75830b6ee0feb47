// What Llama's parameters are called here, by Hugging Face and in GGUF files.
#pragma once

#include <string>
#include <string_view>

namespace tapir::app {

// "layers.3.attn.q_proj.weight" -> "model.layers.3.self_attn.q_proj.weight".
std::string hugging_face_name(std::string_view name);

// "layers.3.attn.q_proj.weight" -> "blk.3.attn_q.weight".
std::string gguf_name(std::string_view name);

}  // namespace tapir::app
