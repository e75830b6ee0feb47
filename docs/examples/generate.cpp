// Loads a checkpoint that `tapir train` wrote and continues a text, with nothing but the framework:
// the weights' shapes tell the size of the model, and bytes are the tokens (--tokenizer byte).
// Usage: generate MODEL.SAFETENSORS HEADS CONTEXT PROMPT
#include "nn/generate.h"

#include <cstdlib>

#include "autograd/serialize.h"

using namespace tapir;

// The sizes of a model with default settings, from the shapes of its weights. The number of heads
// and the context leave no trace in them.
nn::TransformerConfig config_of(const StateDict& weights, int64_t heads, int64_t context) {
  nn::TransformerConfig config;
  const Tensor& embeddings = weights.at("token_embeddings.weight");  // [V, C]
  config.vocab_size = embeddings.size(0);
  config.d_model = embeddings.size(1);
  config.d_ff = weights.at("layers.0.ffn.w1.weight").size(0);
  config.n_layers = 0;
  while (weights.contains(fmt::format("layers.{}.ln1.weight", config.n_layers))) ++config.n_layers;
  config.n_heads = heads;
  config.max_seq_len = context;
  return config;
}

int main(int argc, char** argv) try {
  require(argc == 5, "generate", "usage: generate MODEL.SAFETENSORS HEADS CONTEXT PROMPT");
  const StateDict weights = load_safetensors(argv[1]).tensors;
  Generator generator(0);
  nn::TransformerLM model(config_of(weights, std::atoi(argv[2]), std::atoi(argv[3])), generator);
  model.load_state_dict(weights);

  const std::string prompt = argv[4];
  const std::vector<int32_t> ids(prompt.begin(), prompt.end());
  fmt::print("{}", prompt);
  nn::GenerateOptions options;
  options.max_new_tokens = 100;
  options.sampling.temperature = 0.8;
  options.on_token = [](int64_t, int32_t id) {
    if (id < 128) fmt::print("{}", static_cast<char>(id));
    return true;  // false would end the text
  };
  nn::generate(model, {ids}, options);
  fmt::print("\n");
  return 0;
} catch (const Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
