// A checkpoint: a folder with everything that using or resuming a model takes.
//   model.safetensors      the weights
//   optimizer.safetensors  the optimizer's state
//   tokenizer.json         the tokenizer
//   state.json             where training stood, the configuration, sizes and hashes
#pragma once

#include <filesystem>
#include <memory>

#include "apps/run_config.h"
#include "apps/tokenizer/tokenizer.h"
#include "apps/training_state.h"
#include "nn/transformer.h"
#include "optim/optimizer.h"

namespace tapir::app {

struct CheckpointContents {
  const RunConfig& config;
  const TrainingState& state;
  const Tokenizer& tokenizer;
  int64_t documents = 0;  // that the model was trained on
  const nn::TransformerLM& model;
  const optim::Optimizer& optimizer;
};

// Writes the folder under a temporary name beside `folder`, syncs it and renames it, so that it
// appears whole or not at all. An earlier folder of that name is replaced.
void write_checkpoint(const std::filesystem::path& folder, const CheckpointContents& contents);

// What state.json says.
struct CheckpointInfo {
  RunConfig config;
  TrainingState state;
  int64_t documents = 0;
  std::string tokenizer_hash;
};

struct LoadedModel {
  std::filesystem::path folder;
  CheckpointInfo info;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<nn::TransformerLM> model;
};

// Missing, truncated, foreign or mismatched files are an Error that names them.
CheckpointInfo read_checkpoint_info(const std::filesystem::path& folder);
LoadedModel load_model(const std::filesystem::path& folder, Device device);

// The checkpoint folder that a user means: `path` itself if it is one, else the `which` one of the
// run in it: "last", "best", a step number, or "" for best if there is one and last otherwise.
std::filesystem::path find_checkpoint(const std::filesystem::path& path,
                                      const std::string& which = "");

}  // namespace tapir::app
