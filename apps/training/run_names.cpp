#include "apps/training/run_names.h"

#include <set>

namespace tapir::app {

std::vector<std::string> run_names(const std::vector<std::filesystem::path>& runs) {
  std::vector<std::string> names, paths;
  for (const std::filesystem::path& run : runs) {
    const std::filesystem::path whole = std::filesystem::absolute(run).lexically_normal();
    names.push_back((whole.has_filename() ? whole : whole.parent_path()).filename().string());
    paths.push_back(run.string());
  }
  return std::set(names.begin(), names.end()).size() == names.size() ? names : paths;
}

}  // namespace tapir::app
