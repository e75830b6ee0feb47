// A file that appears whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace tapir {

// Writes to a temporary file beside `path`, or beside the file that it is a link to; commit() syncs
// and renames it to its place. Without commit the temporary file is removed and what stood at
// `path` is untouched. Every failure (no permission, full disk) is an Error naming the path, and so
// is a device or pipe in its place.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(std::string_view bytes);
  void commit();

 private:
  [[noreturn]] void fail_with_errno(std::string_view action) const;

  std::filesystem::path path_, temporary_;
  int descriptor_ = -1;
  bool committed_ = false;
};

}  // namespace tapir
