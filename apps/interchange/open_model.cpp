#include "apps/interchange/open_model.h"

#include "apps/cli/output.h"
#include "apps/config/config_file.h"
#include "apps/interchange/llama_folder.h"
#include "apps/machine.h"
#include "apps/training/run_folder.h"
#include "backends/cpu/allocator.h"
#include "backends/cpu/threads.h"
#include "backends/registry.h"
#include "nn/compressed_weight.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;

// The configuration of a run that such a model could come from.
RunConfig run_config(const LlamaFolder& llama, const fs::path& folder) {
  RunConfig config;
  config.model = llama.config;
  config.data.tokenizer = folder.string();
  config.validate();
  return config;
}

}  // namespace

LoadedModel open_model(const fs::path& path, const std::string& which, Device device) {
  std::error_code error;
  if (!is_llama_folder(path) || fs::exists(path / "checkpoints", error)) {
    return load_model(find_checkpoint(path, which), device);
  }
  require(which.empty(), "import", "{} is one model, not a run to choose '{}' from", path.string(),
          which);
  LlamaFolder llama = read_llama_folder(path);
  LoadedModel loaded{path, CheckpointInfo(), llama.tokenizer, nullptr};
  loaded.info.config = run_config(llama, path);
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

std::vector<std::string> import_model(const fs::path& folder, const fs::path& out, int64_t context,
                                      bool overwrite) {
  LlamaFolder llama = read_llama_folder(folder);
  require(context <= llama.config.context, "import",
          "--context {} is more than the {} positions that the model was made for", context,
          llama.config.context);
  if (context > 0) llama.config.context = context;
  RunConfig config = run_config(llama, folder);
  RunFolder run(out, overwrite ? RunFolder::Mode::overwrite : RunFolder::Mode::create);
  run.begin(config_text(settings(config)), TrainingState());
  const int64_t parameters =
      llama.config.transformer(llama.tokenizer->vocab_size()).parameter_count();
  run.save({.config = config,
            .state = TrainingState(),
            .tokenizer = *llama.tokenizer,
            .end_tokens = llama.end_tokens,
            .model = std::move(llama.weights),
            .optimizer = {}},
           false, 0);
  llama.notes.push_back(fmt::format("{} parameters, {} layers, a vocabulary of {}, a context of {}",
                                    parameters, config.model.layers, llama.tokenizer->vocab_size(),
                                    config.model.context));
  return llama.notes;
}

}  // namespace tapir::app
