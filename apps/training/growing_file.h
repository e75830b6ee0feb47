// A text file that grows by whole lines.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tapir::app {

class GrowingFile {
 public:
  // Continues the file, or creates it. One that cannot be written is an Error.
  explicit GrowingFile(std::filesystem::path path);
  ~GrowingFile();
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  // Writes lines. If that fails, an Error, the file stays as it was: the lines are kept and come
  // first the next time.
  void append(std::string_view lines);

  // Writes what was kept, and forces all of it to the disk.
  void sync();

 private:
  [[noreturn]] void fail_with_errno() const;

  std::filesystem::path path_;
  int descriptor_;
  std::string pending_;
};

}  // namespace tapir::app
