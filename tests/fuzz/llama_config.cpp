// config.json and model.safetensors.index.json of transformers.
#include "apps/interchange/llama_config.h"

#include "apps/interchange/shard_index.h"
#include "tests/fuzz/fuzz.h"

using namespace tapir;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text = testing::as_text(data, size);
  testing::expect_at_most_an_error([&] {
    for (const auto& entry : app::parse_shard_index(text, "index")) {
      testing::must(entry.second.find('/') == std::string::npos);
    }
  });
  return testing::expect_at_most_an_error([&] {
    const app::LlamaConfig config = app::parse_llama_config(text, "config.json");
    config.model.transformer(config.vocab_size).validate();
    app::llama_config_json(config, {}, DType::f32);
  });
}
