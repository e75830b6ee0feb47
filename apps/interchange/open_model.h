// Models wherever they come from.
#pragma once

#include <filesystem>
#include <string>

#include "apps/training/checkpoint.h"
#include "backends/matmul_precision.h"

namespace tapir::app {

// The model in a run, in one checkpoint, or in a folder as transformers writes it. `which` chooses
// among the checkpoints of a run, as find_checkpoint() does.
LoadedModel open_model(const std::filesystem::path& path, const std::string& which, Device device);

// Refuses a checkpoint of which a file that makes up the model has changed since it was written;
// `path` and `which` as above. Folders as transformers writes them hold no checksums.
void verify_model(const std::filesystem::path& path, const std::string& which);

// How a command runs a model that it does not train, as the user asked for it.
struct InferenceSettings {
  std::string weights = "f32";
  std::string device = "auto";
  MatmulPrecision matmul_precision = MatmulPrecision::highest;
  int64_t threads = 0;  // 0: as many as physical cores
};

// The same model, ready to run so. Tells the user where the machine cannot do what was asked.
LoadedModel open_model(const std::filesystem::path& path, const std::string& which,
                       const InferenceSettings& settings);

}  // namespace tapir::app
