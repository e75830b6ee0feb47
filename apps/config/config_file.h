// Settings in a file, in TOML.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "apps/cli/setting.h"

namespace tapir::app {

// Sets what the file holds and leaves the rest. An Error names file, line and key; for a mistyped
// section or key it suggests the right one.
void read_config_file(const std::filesystem::path& path, std::span<const Setting> settings);

// Every setting with its value and a comment that explains it, by sections.
std::string config_text(std::span<const Setting> settings);

}  // namespace tapir::app
