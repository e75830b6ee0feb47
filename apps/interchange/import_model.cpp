#include "apps/interchange/import_model.h"

#include "apps/config/config_file.h"
#include "apps/files.h"
#include "apps/interchange/llama_folder.h"
#include "apps/interchange/weight_values.h"
#include "apps/training/run_folder.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOp = "import";

void write_run(const fs::path& folder, const RunConfig& config, const LlamaFolder& llama) {
  RunConfig written = config;
  RunFolder run(folder, RunFolder::Mode::create);
  run.begin(config_text(settings(written)), TrainingState());
  run.save({.config = config,
            .state = TrainingState(),
            .tokenizer = *llama.tokenizer,
            .end_tokens = llama.end_tokens,
            .model = llama.weights,
            .optimizer = {}},
           false, 0);
}

void move_file(const fs::path& source, const fs::path& target) {
  std::error_code error;
  fs::rename(source, target, error);
  require(!error, kOp, "cannot replace {}: {}", target.string(), error.message());
}

// The checkpoints first: they hold all that using the model takes.
void move_run_into_place(const fs::path& source, const RunFolder& run) {
  move_folder_into_place(source / "checkpoints", run.path() / "checkpoints");
  for (const fs::path& target : {run.config_file(), run.metrics_file()}) {
    move_file(source / target.filename(), target);
  }
  std::error_code ignored;
  const fs::path of_the_old_run[] = {run.path() / "samples.txt", run.plot_file(), run.report_file(),
                                     run.machine_file()};
  for (const fs::path& file : of_the_old_run) fs::remove(file, ignored);
}

}  // namespace

std::vector<std::string> import_model(const fs::path& folder, const fs::path& out, int64_t context,
                                      bool overwrite) {
  LlamaFolder llama = read_llama_folder(folder);
  require(!is_llama_folder(out), kOp,
          "{} holds a model of transformers, which a run would get mixed up with; choose another "
          "folder with --out",
          out.string());
  require(context <= llama.config.context, kOp,
          "--context {} is more than the {} positions that the model was made for", context,
          llama.config.context);
  if (context > 0) llama.config.context = context;
  const RunConfig config = run_config_of(llama, folder);
  const RunFolder run(out, overwrite ? RunFolder::Mode::overwrite : RunFolder::Mode::create);
  const fs::path temporary = out / ".import.new";
  std::error_code ignored;
  fs::remove_all(temporary, ignored);
  {
    const RemovedUnlessMoved remover{temporary};
    write_run(temporary, config, llama);
    move_run_into_place(temporary, run);
  }
  const int64_t parameters =
      llama.config.transformer(llama.tokenizer->vocab_size()).parameter_count();
  std::vector<NamedTensor> weights;
  for (const auto& weight : llama.weights) weights.push_back({weight.first, weight.second});
  if (auto note = note_on_infinite(weights)) llama.notes.push_back(std::move(*note));
  llama.notes.push_back(fmt::format("{} parameters, {} layers, a vocabulary of {}, a context of {}",
                                    parameters, config.model.layers, llama.tokenizer->vocab_size(),
                                    config.model.context));
  return llama.notes;
}

}  // namespace tapir::app
