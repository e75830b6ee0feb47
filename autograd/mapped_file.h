// A file's bytes in memory, read from the disk when they are first looked at.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace tapir {

// The bytes may be written to: what is written stays in memory and never reaches the file. The
// file must not be shortened while it is mapped; one that is replaced by renaming stays as it was.
class MappedFile {
 public:
  // A file that is missing, unreadable or no regular file is an Error under the name `op`.
  MappedFile(const std::filesystem::path& path, std::string_view op);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  unsigned char* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  unsigned char* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace tapir
