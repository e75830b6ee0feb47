// Bytes from a file, compressed or not.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <string_view>

namespace tapir::app {

class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // Puts up to `most` bytes at `to` and gives their number; 0 only at the end. A failure, and
  // corrupted or truncated compressed data, is an Error that names the file.
  virtual size_t read(char* to, size_t most) = 0;
};

// Whether a name has that ending, in letters of either case (ASCII).
bool has_ending(std::string_view name, std::string_view ending);

// The file of that name; one that ends in .gz or .zst is decompressed, in little memory whatever
// its size. Missing or unreadable: an Error.
std::unique_ptr<ByteSource> open_byte_source(const std::string& path);

// An open file, which stays open. `name` is for messages.
std::unique_ptr<ByteSource> make_file_source(std::FILE* file, std::string name);

// What another source's bytes decompress to: gzip of any number of members, or zstd of any number
// of frames, each with a window of at most 128 MiB. A build without zlib or zstd: an Error.
std::unique_ptr<ByteSource> make_gzip_source(std::unique_ptr<ByteSource> from, std::string name);
std::unique_ptr<ByteSource> make_zstd_source(std::unique_ptr<ByteSource> from, std::string name);

// The name without .gz or .zst.
std::string without_compression(const std::string& path);

}  // namespace tapir::app
