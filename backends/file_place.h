// Where a new file goes that is to replace what has its name.
#pragma once

#include <filesystem>
#include <string_view>

#include "backends/error.h"

namespace tapir {

// `path`, or the file that it is a link to. Files are written beside their place and renamed, which
// would put a file in the place of a device (/dev/null) or a pipe: naming one is an Error.
inline std::filesystem::path file_place(std::string_view op, const std::filesystem::path& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  require(!fs::exists(status) || fs::is_regular_file(status) || fs::is_directory(status), op,
          "{} is a device or a pipe, which a file would replace; name a file", path.string());
  if (!fs::exists(status) || !fs::is_symlink(fs::symlink_status(path, error))) return path;
  const fs::path target = fs::canonical(path, error);
  return error ? path : target;
}

}  // namespace tapir
