// Trains a small TransformerLM on bytes, saves it, and lets a second model that loads it write.
#include <string_view>

#include "autograd/ops.h"
#include "autograd/serialize.h"
#include "nn/generate.h"
#include "optim/adamw.h"
#include "optim/clip.h"

using namespace tapir;

constexpr std::string_view kText = "the tape remembers what it did, and then undoes it. ";

// A batch of windows at random places: the inputs, and the same one byte later.
std::pair<Tensor, Tensor> windows(int64_t batch, int64_t length, Generator& generator) {
  std::vector<int32_t> inputs, targets;
  for (int64_t row = 0; row < batch; ++row) {
    const uint64_t start = generator.below(kText.size());
    for (int64_t i = 0; i < length; ++i) {
      const auto at = start + static_cast<uint64_t>(i);
      inputs.push_back(kText[at % kText.size()]);
      targets.push_back(kText[(at + 1) % kText.size()]);
    }
  }
  return {Tensor::from(std::span<const int32_t>(inputs), {batch, length}),
          Tensor::from(std::span<const int32_t>(targets), {batch, length})};
}

int main(int argc, char** argv) {
  Generator generator(1);
  nn::TransformerConfig config;
  config.vocab_size = 128;
  config.max_seq_len = config.d_model = 32;
  config.n_layers = config.n_heads = 2;
  nn::TransformerLM model(config, generator);
  optim::AdamW optimizer(model.named_parameters(), {.lr = 5e-3});
  for (int step = 1; step <= 150; ++step) {
    const auto batch = windows(8, 32, generator);
    Tape tape;
    const Tensor loss = cross_entropy(model(batch.first), batch.second);
    tape.backward(loss);
    optim::clip_grad_norm(model.named_parameters(), 1.0);
    optimizer.step();
    optimizer.zero_grad();
    if (step % 50 == 0) fmt::print("step {}: loss {:.3f}\n", step, loss.item());
  }
  const std::string file = argc > 1 ? argv[1] : "tape.safetensors";
  save_safetensors(file, model.state_dict());

  nn::TransformerLM copy(config, generator);
  copy.load_state_dict(load_safetensors(file).tensors);
  nn::GenerateOptions options;
  options.max_new_tokens = 48;
  options.sampling.temperature = 0;
  const std::vector<int32_t> ids = nn::generate(copy, {{'t', 'h', 'e', ' '}}, options).ids[0];
  const std::string text(ids.begin(), ids.end());
  fmt::print("the {}\n", text);
  return text.starts_with("tape") ? 0 : 1;
}
