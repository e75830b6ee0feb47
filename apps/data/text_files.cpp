#include "apps/data/text_files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>

#include "backends/error.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOp = "data";

std::string read_bytes(const fs::path& path) {
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  require(!error, kOp, "cannot read {}: {}", path.string(), error.message());
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  require(file.good(), kOp, "cannot open {}: {}", path.string(), std::strerror(errno));
  std::string bytes(size, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(size));
  require(!file.bad(), kOp, "cannot read {}: {}", path.string(), std::strerror(errno));
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

// Text in every encoding that we read has no NUL byte; nearly every other file has one.
size_t find_binary(const std::string& bytes) {
  return bytes.find('\0');
}

void read_named_file(const fs::path& path, TextFiles& result) {
  std::string text = read_bytes(path);
  require(!text.empty(), kOp, "{} is empty", path.string());
  const size_t position = find_binary(text);
  require(position == std::string::npos, kOp,
          "{} is not a text file: byte {} is NUL; give text files or folders of them",
          path.string(), position);
  result.files.push_back({path, std::move(text)});
}

class FolderReader {
 public:
  explicit FolderReader(TextFiles& result) : result_(result) {}

  void read(const fs::path& folder) {
    // A link may lead back to a folder that is being read, or was: each is read once.
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    require(!error, kOp, "cannot open the folder {}: {}", folder.string(), error.message());
    if (!visited_.insert(real).second) {
      result_.notes.push_back(
          fmt::format("{} leads to a folder already read, left out", folder.string()));
      return;
    }
    std::vector<fs::path> entries;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      entries.push_back(it->path());
    }
    require(!error, kOp, "cannot read the folder {}: {}", folder.string(), error.message());
    std::sort(entries.begin(), entries.end());
    for (const fs::path& entry : entries) read_entry(entry);
  }

 private:
  void read_entry(const fs::path& path) {
    if (path.filename().string().starts_with('.')) return;
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) return read(path);
    if (!fs::is_regular_file(status)) return leave_out(path, "is no file");
    std::string text = read_bytes(path);
    if (text.empty()) return leave_out(path, "is empty");
    if (find_binary(text) != std::string::npos) return leave_out(path, "is not text");
    result_.files.push_back({path, std::move(text)});
  }

  void leave_out(const fs::path& path, std::string_view why) {
    result_.notes.push_back(fmt::format("{} {}, left out", path.string(), why));
  }

  TextFiles& result_;
  std::set<fs::path> visited_;
};

}  // namespace

TextFiles read_text_files(const std::vector<std::string>& paths) {
  TextFiles result;
  FolderReader folders(result);
  for (const std::string& path : paths) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    require(status.type() != fs::file_type::not_found, kOp, "there is no file or folder {}", path);
    require(fs::exists(status), kOp, "cannot open {}: {}", path, error.message());
    if (fs::is_directory(status)) {
      const size_t before = result.files.size();
      folders.read(path);
      require(result.files.size() > before, kOp, "the folder {} holds no text file", path);
    } else {
      require(fs::is_regular_file(status), kOp, "{} is neither a file nor a folder", path);
      read_named_file(path, result);
    }
  }
  return result;
}

}  // namespace tapir::app
