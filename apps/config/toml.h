// The part of TOML that our config files use: [sections] with keys whose values are strings,
// whole numbers, numbers, true, false, and arrays of them. Source: https://toml.io/en/v1.0.0.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapir::app {

struct TomlEntry {
  std::string section;  // "" before the first [section]
  std::string key;
  int line = 0;
  std::vector<std::string> values;  // several only in an array; numbers as they are spelled
  bool quoted = false;              // the values are strings
  bool array = false;
};

// The entries of a file in their order. What is no TOML, or of the rest of TOML, is an Error that
// begins with file and line. A key that a section has twice is one too.
std::vector<TomlEntry> parse_toml(std::string_view text, std::string_view file);

// `text` as a TOML string with its quotes.
std::string toml_quote(std::string_view text);

}  // namespace tapir::app
