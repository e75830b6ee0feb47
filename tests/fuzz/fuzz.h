// What the fuzz targets have in common. Each target is a function of bytes that anyone may have
// written: it may raise Error, and nothing else may happen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace tapir::testing {

// A file in memory with a path, for readers that want one.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view bytes) : descriptor_(memfd_create("fuzz", MFD_CLOEXEC)) {
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_, bytes.data(), bytes.size());
      if (written <= 0) std::abort();
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

inline std::string_view as_text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Runs `read` on hostile bytes; an Error is a right answer.
template <typename Function>
int expect_at_most_an_error(Function&& read) {
  try {
    read();
  } catch (const Error&) {
  }
  return 0;
}

// Ends the program, which a fuzzer reports, if something that must hold does not.
inline void must(bool condition) {
  if (!condition) std::abort();
}

}  // namespace tapir::testing
