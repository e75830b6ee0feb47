// Models wherever they come from.
#pragma once

#include <filesystem>
#include <string>

#include "apps/training/checkpoint.h"

namespace tapir::app {

// The model in a run, in one checkpoint, or in a folder as transformers writes it. `which` chooses
// among the checkpoints of a run, as find_checkpoint() does.
LoadedModel open_model(const std::filesystem::path& path, const std::string& which, Device device);

// A new run at `out` with the model of a transformers folder as its only checkpoint, step 0.
// `context` > 0 shortens the model's context. Returns what is to be told to the user.
std::vector<std::string> import_model(const std::filesystem::path& folder,
                                      const std::filesystem::path& out, int64_t context,
                                      bool overwrite);

}  // namespace tapir::app
