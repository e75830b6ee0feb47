#include "apps/interchange/open_model.h"

#include "apps/cli/output.h"
#include "apps/interchange/llama_folder.h"
#include "apps/machine.h"
#include "backends/cpu/allocator.h"
#include "backends/cpu/threads.h"
#include "backends/registry.h"
#include "nn/compressed_weight.h"

namespace tapir::app {

namespace fs = std::filesystem;

namespace {

bool is_foreign(const fs::path& path) {
  std::error_code error;
  return is_llama_folder(path) && !fs::exists(path / "checkpoints", error);
}

}  // namespace

void verify_model(const fs::path& path, const std::string& which) {
  if (!is_foreign(path)) verify_model_files(find_checkpoint(path, which));
}

LoadedModel open_model(const fs::path& path, const std::string& which, Device device) {
  if (!is_foreign(path)) return load_model(find_checkpoint(path, which), device);
  require(which.empty(), "import", "{} is one model, not a run to choose '{}' from", path.string(),
          which);
  LlamaFolder llama = read_llama_folder(path);
  LoadedModel loaded{path, CheckpointInfo(), llama.tokenizer, nullptr};
  loaded.info.config = run_config_of(llama, path);
  loaded.info.end_tokens = llama.end_tokens;
  loaded.info.tokenizer_hash = llama.tokenizer->hash();
  const int64_t vocab_size = llama.tokenizer->vocab_size();
  loaded.model = make_model(llama.config.transformer(vocab_size), llama.weights, device);
  return loaded;
}

LoadedModel open_model(const fs::path& path, const std::string& which,
                       const InferenceSettings& settings) {
  if (settings.threads > 0) cpu::set_threads(static_cast<int>(settings.threads));
  const auto compression = nn::parse_weights(settings.weights);
  const Device device = choose_device(settings.device);
  if (const auto note = use_matmul_precision(settings.matmul_precision, device))
    print_notes({*note});
  LoadedModel model = open_model(path, which, device);
  if (compression) {
    nn::compress_weights(*model.model, *compression);
    cpu::allocator().release_free_blocks();  // those of the weights as they were
  }
  return model;
}

}  // namespace tapir::app
