// Text from files and folders.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tapir::app {

struct TextFile {
  std::filesystem::path path;
  std::string text;
};

struct TextFiles {
  std::vector<TextFile> files;
  // What was left out, for people: empty and binary files inside folders.
  std::vector<std::string> notes;
};

// Reads every file, and of every folder all files below it in the order of their names (hidden
// ones are left out). A path that is missing, unreadable, empty or binary is an Error that names
// it, and so is a list without any text. Inside folders, empty and binary files are only noted.
TextFiles read_text_files(const std::vector<std::string>& paths);

}  // namespace tapir::app
