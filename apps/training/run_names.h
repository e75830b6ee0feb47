// What runs are called beside each other.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tapir::app {

// The names of their folders; where two have the same one, all paths as they were given.
std::vector<std::string> run_names(const std::vector<std::filesystem::path>& runs);

}  // namespace tapir::app
