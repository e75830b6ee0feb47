#include "apps/data/byte_source.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr std::string_view kOp = "data";
constexpr std::string_view kGzip = ".gz", kZstd = ".zst";

struct LeaveOpen {
  void operator()(std::FILE*) const {}
};
struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

template <typename Deleter>
class FileSource : public ByteSource {
 public:
  FileSource(std::FILE* file, std::string name) : file_(file), name_(std::move(name)) {}

  size_t read(char* to, size_t most) override {
    const size_t count = std::fread(to, 1, most, file_.get());
    require(std::ferror(file_.get()) == 0, kOp, "cannot read {}: {}", name_, std::strerror(errno));
    return count;
  }

 private:
  std::unique_ptr<std::FILE, Deleter> file_;
  std::string name_;
};

}  // namespace

std::unique_ptr<ByteSource> make_file_source(std::FILE* file, std::string name) {
  return std::make_unique<FileSource<LeaveOpen>>(file, std::move(name));
}

bool has_ending(std::string_view name, std::string_view ending) {
  const auto lower = [](char c) { return std::tolower(static_cast<unsigned char>(c)); };
  return name.size() >= ending.size() &&
         std::equal(ending.begin(), ending.end(), name.end() - static_cast<long>(ending.size()),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

std::unique_ptr<ByteSource> open_byte_source(const std::string& path) {
  std::FILE* const file = std::fopen(path.c_str(), "rbe");
  require(file != nullptr, kOp, "cannot open {}: {}", path, std::strerror(errno));
  std::unique_ptr<ByteSource> bytes = std::make_unique<FileSource<Close>>(file, path);
  if (has_ending(path, kGzip)) return make_gzip_source(std::move(bytes), path);
  if (has_ending(path, kZstd)) return make_zstd_source(std::move(bytes), path);
  return bytes;
}

std::string without_compression(const std::string& path) {
  for (const std::string_view ending : {kGzip, kZstd}) {
    if (has_ending(path, ending)) return path.substr(0, path.size() - ending.size());
  }
  return path;
}

}  // namespace tapir::app
