// A checkpoint: a folder with everything that using or resuming a model takes.
//   model.safetensors      the weights
//   optimizer.safetensors  the optimizer's state; not there for a model that was not trained here
//   tokenizer.json         the tokenizer
//   state.json             where training stood, the configuration, and checksums of the others
#pragma once

#include <filesystem>
#include <memory>

#include "apps/config/run_config.h"
#include "apps/tokenizer/tokenizer.h"
#include "apps/training/training_state.h"
#include "nn/transformer.h"
#include "optim/optimizer.h"

namespace tapir::app {

struct CheckpointContents {
  const RunConfig& config;
  const TrainingState& state;
  const Tokenizer& tokenizer;
  int64_t documents = 0;  // that the model was trained on
  int64_t train_tokens = 0;
  uint64_t train_data = 0;               // TokenSequence::fingerprint of them
  std::vector<int32_t> end_tokens = {};  // see CheckpointInfo
  StateDict model;
  StateDict optimizer;  // empty: no file is written
};

// Writes the folder under a temporary name beside `folder`, syncs it and renames it, so that it
// appears whole or not at all. An earlier folder of that name is replaced.
void write_checkpoint(const std::filesystem::path& folder, const CheckpointContents& contents);

struct FileRecord {
  std::string name;
  int64_t bytes = 0;
  std::string checksum;
};

// What state.json says.
struct CheckpointInfo {
  RunConfig config;
  TrainingState state;
  int64_t documents = 0;
  int64_t train_tokens = 0;
  uint64_t train_data = 0;
  std::string tokenizer_hash;
  std::vector<int32_t> end_tokens;  // where a text ends, besides the tokenizer's end-of-text
  std::vector<FileRecord> files;
  int64_t format = 0;
  std::string program;  // that wrote it, with its version

  bool has_optimizer() const;
};

// A model of that configuration whose weights are the tensors of `weights` themselves.
std::unique_ptr<nn::TransformerLM> make_model(const nn::TransformerConfig& config,
                                              const StateDict& weights, Device device);

struct LoadedModel {
  std::filesystem::path folder;
  CheckpointInfo info;
  std::shared_ptr<const Tokenizer> tokenizer;
  std::unique_ptr<nn::TransformerLM> model;
};

// Missing, truncated, foreign or mismatched files are an Error that names them; one that another
// version of the program wrote with a different format is an Error that says so.
CheckpointInfo read_checkpoint_info(const std::filesystem::path& folder);
LoadedModel load_model(const std::filesystem::path& folder, Device device);
// Checks that the tokenizer is the one that the model was trained with.
std::shared_ptr<const Tokenizer> load_checkpoint_tokenizer(const std::filesystem::path& folder);
// Fills in a model and the optimizer of its parameters, which stays as it is if the checkpoint has
// no state for it. Another precision than that of the checkpoint loses nothing that it can hold:
// f32 weights become the masters of bf16 ones, and masters become f32 weights.
void load_training(const std::filesystem::path& folder, const CheckpointInfo& info,
                   nn::TransformerLM& model, optim::Optimizer& optimizer);

// Compares state.json with the checksum in it, and every other file with the size and checksum in
// state.json; an Error names the first that differs.
void verify_checkpoint(const std::filesystem::path& folder);
// The same without the optimizer's state, which only training needs.
void verify_model_files(const std::filesystem::path& folder);

// "step-40".
std::string checkpoint_name(int64_t step);
// Steps of the checkpoints in a folder of them, complete or not, the newest first.
std::vector<int64_t> checkpoint_steps(const std::filesystem::path& folder);

// The checkpoint folder that a user means: `path` itself if it is one, else the `which` one of the
// run in it: "last", "best", a step (40 or step-40), or "" for best if there is one, last
// otherwise, and the newest step where the links lead nowhere. An Error lists those that there are.
std::filesystem::path find_checkpoint(const std::filesystem::path& path,
                                      const std::string& which = "");

}  // namespace tapir::app
