// The files that a user means by a list of paths.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tapir::app {

inline constexpr const char* kStandardInput = "-";

struct InputFile {
  std::filesystem::path path;  // kStandardInput for that
  bool named = false;          // by the user, rather than found in a folder or by a pattern
  bool is_standard_input() const { return path == kStandardInput; }
  std::string shown() const { return is_standard_input() ? "standard input" : path.string(); }
};

struct InputFiles {
  std::vector<InputFile> files;
  std::vector<std::string> notes;  // what was left out, for people
};

// A path is a file, a folder (all files below it in the order of their names, but for hidden ones),
// a pattern (glob.h) that is no file itself, or "-" for standard input. For each path a file is
// found once, however many links or matches lead to it. A path that is missing, unreadable or
// matches nothing is an Error that names it.
InputFiles find_input_files(const std::vector<std::string>& paths);

}  // namespace tapir::app
