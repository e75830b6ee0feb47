#include "apps/tokenizer/file_io.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "backends/error.h"
#include "backends/file_place.h"

namespace tapir::app {
namespace {

constexpr uintmax_t kMaxSize = uintmax_t{1} << 30;

// Why the last call of the system failed; streams do not promise to say.
std::string reason() {
  return errno == 0 ? "input/output error" : std::strerror(errno);
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  require(std::filesystem::exists(status), "read", "{} does not exist", path.string());
  require(std::filesystem::is_regular_file(status), "read", "{} is not a file", path.string());
  const uintmax_t size = std::filesystem::file_size(path, error);
  require(!error && size <= kMaxSize, "read", "{} is larger than 1 GiB", path.string());
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string contents(size, '\0');
  file.read(contents.data(), static_cast<std::streamsize>(size));
  require(file.good() || (size == 0 && !file.bad()), "read", "cannot read {}: {}", path.string(),
          reason());
  return contents;
}

void write_file(const std::filesystem::path& path, std::string_view contents) {
  const std::filesystem::path place = file_place("write", path);
  std::filesystem::path temporary = place;
  temporary += ".tmp";
  std::error_code error;
  errno = 0;
  {
    std::ofstream file(temporary, std::ios::binary | std::ios::trunc);
    file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
    file.flush();
    if (!file.good()) {
      const std::string why = reason();
      std::filesystem::remove(temporary, error);
      fail("write", "cannot write {}: {}", path.string(), why);
    }
  }
  std::filesystem::rename(temporary, place, error);
  if (!error) return;
  const std::string why = error.message();
  std::filesystem::remove(temporary, error);
  fail("write", "{} cannot be replaced: {}", path.string(), why);
}

}  // namespace tapir::app
