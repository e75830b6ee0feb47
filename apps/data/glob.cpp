#include "apps/data/glob.h"

#include <algorithm>
#include <set>

#include <fnmatch.h>

namespace tapir::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAnyFolders = "**";

std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  const fs::path shown = folder.empty() ? fs::path(".") : folder;
  for (fs::directory_iterator it(shown, error), end; !error && it != end; it.increment(error)) {
    entries.push_back(folder / it->path().filename());
  }
  return entries;
}

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

// Folders below which ** looks: links are not followed, so that it comes to an end.
bool is_searched(const fs::path& path) {
  std::error_code error;
  return !path.filename().string().starts_with('.') &&
         fs::symlink_status(path, error).type() == fs::file_type::directory;
}

class Matcher {
 public:
  explicit Matcher(const std::string& pattern) {
    for (const fs::path& part : fs::path(pattern)) {
      const std::string name = part.string();
      if (name.empty()) continue;  // behind a slash at the end
      if (name == kAnyFolders && !parts_.empty() && parts_.back() == kAnyFolders) continue;
      parts_.push_back(name);
    }
    if (!parts_.empty() && parts_.back() == kAnyFolders) parts_.push_back("*");
  }

  void match(const fs::path& base, size_t part) {
    if (part == parts_.size()) {
      found_.insert(base);
      return;
    }
    const std::string& name = parts_[part];
    if (name == kAnyFolders) return match_below(base, part);
    if (!is_pattern(name)) {
      const fs::path path = base / name;
      std::error_code error;
      if (fs::exists(path, error)) match(path, part + 1);
      return;
    }
    const bool last = part + 1 == parts_.size();
    for (const fs::path& entry : entries_of(base)) {
      if (fnmatch(name.c_str(), entry.filename().c_str(), FNM_PERIOD) != 0) continue;
      if (last || is_folder(entry)) match(entry, part + 1);
    }
  }

  std::vector<fs::path> found() const { return {found_.begin(), found_.end()}; }

 private:
  void match_below(const fs::path& base, size_t part) {
    match(base, part + 1);
    for (const fs::path& entry : entries_of(base)) {
      if (is_searched(entry)) match_below(entry, part);
    }
  }

  std::vector<std::string> parts_;
  std::set<fs::path> found_;
};

}  // namespace

bool is_pattern(const std::string& path) {
  return path.find_first_of("*?[") != std::string::npos;
}

std::vector<fs::path> expand_pattern(const std::string& pattern) {
  Matcher matcher(pattern);
  matcher.match({}, 0);
  return matcher.found();
}

}  // namespace tapir::app
