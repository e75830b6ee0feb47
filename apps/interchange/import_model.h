// A run of a model that another program made.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tapir::app {

// A new run at `out` with the model of a transformers folder as its only checkpoint, step 0.
// `context` > 0 shortens the model's context. Returns what is to be told to the user. A run that is
// in `out` is an Error unless `overwrite`, and stays as it was until the new one is complete; what
// else the folder holds stays. A failure leaves nothing behind.
std::vector<std::string> import_model(const std::filesystem::path& folder,
                                      const std::filesystem::path& out, int64_t context,
                                      bool overwrite);

}  // namespace tapir::app
