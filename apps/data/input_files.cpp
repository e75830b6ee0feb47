#include "apps/data/input_files.h"

#include <algorithm>
#include <set>

#include "apps/data/glob.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOp = "data";

class Finder {
 public:
  void add(const std::string& path) {
    if (path == kStandardInput) return add_standard_input();
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    files_of_path_.clear();
    if (!fs::exists(status) && is_pattern(path)) return add_pattern(path);
    require(status.type() != fs::file_type::not_found, kOp, "there is no file or folder {}", path);
    require(fs::exists(status), kOp, "cannot open {}: {}", path, error.message());
    if (fs::is_directory(status)) return add_named_folder(path);
    require(fs::is_regular_file(status), kOp, "{} is neither a file nor a folder", path);
    found_.files.push_back({path, true});
  }

  InputFiles take() { return std::move(found_); }

 private:
  void add_standard_input() {
    const auto is_input = [](const InputFile& file) { return file.is_standard_input(); };
    require(std::none_of(found_.files.begin(), found_.files.end(), is_input), kOp,
            "standard input (-) can be read only once");
    found_.files.push_back({kStandardInput, true});
  }

  void add_pattern(const std::string& pattern) {
    const std::vector<fs::path> matches = expand_pattern(pattern);
    require(!matches.empty(), kOp, "no file or folder matches {}", pattern);
    // What lies in a folder that matches too is read with that (as all of "texts/**").
    const std::set<fs::path> taken(matches.begin(), matches.end());
    const auto is_taken = [&](const fs::path& match) {
      fs::path folder = match;
      while (folder.has_relative_path()) {
        folder = folder.parent_path();
        if (taken.contains(folder)) return true;
      }
      return false;
    };
    for (const fs::path& match : matches) {
      if (!is_taken(match)) add_found(match);
    }
  }

  void add_named_folder(const std::string& folder) {
    const size_t before = found_.files.size();
    add_folder(folder);
    require(found_.files.size() > before, kOp, "the folder {} holds no text file", folder);
  }

  void add_folder(const fs::path& folder) {
    // A link may lead back to a folder that is being read, or was: each is read once.
    std::error_code error;
    const fs::path real = fs::canonical(folder, error);
    require(!error, kOp, "cannot open the folder {}: {}", folder.string(), error.message());
    if (!visited_.insert(real).second) {
      found_.notes.push_back(
          fmt::format("{} leads to a folder already read, left out", folder.string()));
      return;
    }
    std::vector<fs::path> entries;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      entries.push_back(it->path());
    }
    require(!error, kOp, "cannot read the folder {}: {}", folder.string(), error.message());
    std::sort(entries.begin(), entries.end());
    for (const fs::path& entry : entries) {
      if (!entry.filename().string().starts_with('.')) add_found(entry);
    }
  }

  void add_found(const fs::path& path) {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) return add_folder(path);
    if (!fs::is_regular_file(status)) {
      found_.notes.push_back(fmt::format("{} is no file, left out", path.string()));
    } else if (!files_of_path_.insert(fs::canonical(path, error)).second && !error) {
      found_.notes.push_back(
          fmt::format("{} leads to a file already read, left out", path.string()));
    } else {
      found_.files.push_back({path, false});
    }
  }

  InputFiles found_;
  std::set<fs::path> visited_;        // folders
  std::set<fs::path> files_of_path_;  // found for the path that is being added
};

}  // namespace

InputFiles find_input_files(const std::vector<std::string>& paths) {
  Finder finder;
  for (const std::string& path : paths) finder.add(path);
  return finder.take();
}

}  // namespace tapir::app
