// File name patterns that the shell left to us ("texts/**/*.txt").
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tapir::app {

// Whether a path holds any of * ? [.
bool is_pattern(const std::string& path);

// The files and folders that match, in the order of their names. * and ? and [...] match within a
// name, ** any number of folders; hidden names match only a pattern that begins with a dot. An
// unreadable folder matches nothing.
std::vector<std::filesystem::path> expand_pattern(const std::string& pattern);

}  // namespace tapir::app
