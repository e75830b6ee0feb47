// Text from files, folders and standard input, in portions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tapir::app {

struct TextInputSize {
  int64_t documents = 0;
  int64_t bytes = 0;
};

// Hands every file to `add_text` in portions of about a megabyte and calls `end_document` behind
// it. A folder stands for all files below it in the order of their names, but for hidden ones, and
// "-" for standard input. A path that is missing or cannot be read is an Error that names it.
TextInputSize read_text_input(const std::vector<std::string>& paths,
                              const std::function<void(std::string_view)>& add_text,
                              const std::function<void()>& end_document);

}  // namespace tapir::app
