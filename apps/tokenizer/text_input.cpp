#include "apps/tokenizer/text_input.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "backends/error.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kOp = "text";
constexpr size_t kPortion = size_t{1} << 20;

bool is_hidden(const fs::path& path) {
  return path.filename().string().starts_with(".");
}

// Files below `folder`, sorted. Links to folders are not followed, so that no circle can arise.
std::vector<fs::path> files_below(const fs::path& folder) {
  std::vector<fs::path> files;
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    if (is_hidden(entry->path())) {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file(error)) {
      files.push_back(entry->path());
    }
  }
  require(!error, kOp, "folder {} cannot be read: {}", folder.string(), error.message());
  require(!files.empty(), kOp, "folder {} holds no file", folder.string());
  std::sort(files.begin(), files.end());
  return files;
}

struct CloseFile {
  void operator()(std::FILE* file) const {
    if (file != stdin) std::fclose(file);
  }
};

int64_t read_portions(const std::string& name,
                      const std::function<void(std::string_view)>& add_text) {
  const std::unique_ptr<std::FILE, CloseFile> file(name == "-" ? stdin
                                                               : std::fopen(name.c_str(), "rb"));
  require(file != nullptr, kOp, "{} cannot be opened: {}", name, std::strerror(errno));
  std::string portion(kPortion, '\0');
  int64_t bytes = 0;
  while (const size_t count = std::fread(portion.data(), 1, portion.size(), file.get())) {
    add_text(std::string_view(portion).substr(0, count));
    bytes += static_cast<int64_t>(count);
  }
  require(std::ferror(file.get()) == 0, kOp, "{} cannot be read: {}", name, std::strerror(errno));
  return bytes;
}

}  // namespace

TextInputSize read_text_input(const std::vector<std::string>& paths,
                              const std::function<void(std::string_view)>& add_text,
                              const std::function<void()>& end_document) {
  TextInputSize size;
  const auto read = [&](const std::string& name) {
    size.bytes += read_portions(name, add_text);
    ++size.documents;
    end_document();
  };
  for (const std::string& path : paths) {
    std::error_code error;
    if (path != "-" && fs::is_directory(path, error)) {
      for (const fs::path& file : files_below(path)) read(file.string());
    } else {
      read(path);
    }
  }
  return size;
}

}  // namespace tapir::app
