#include "apps/files.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "backends/error.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_with_errno(std::string_view action, const fs::path& path) {
  fail("save", "cannot {} {}: {}", action, path.string(), std::strerror(errno));
}

}  // namespace

void sync_folder(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) fail_with_errno("open", folder);
  const bool synced = fsync(descriptor) == 0;
  close(descriptor);
  if (!synced) fail_with_errno("sync", folder);
}

void move_folder_into_place(const fs::path& source, const fs::path& target) {
  sync_folder(source);
  if (rename(source.c_str(), target.c_str()) != 0) {
    // The target exists and is not empty: let the two change places, and remove the old one.
    if (errno != ENOTEMPTY && errno != EEXIST) fail_with_errno("create", target);
    const int exchanged =
        renameat2(AT_FDCWD, source.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE);
    if (exchanged != 0) fail_with_errno("replace", target);
    std::error_code ignored;
    fs::remove_all(source, ignored);
  }
  sync_folder(target.parent_path());
}

void replace_link(const fs::path& link, const fs::path& target) {
  const fs::path temporary = link.string() + ".new";
  unlink(temporary.c_str());
  if (symlink(target.c_str(), temporary.c_str()) != 0) fail_with_errno("create", temporary);
  if (rename(temporary.c_str(), link.c_str()) != 0) fail_with_errno("replace", link);
  sync_folder(link.parent_path());
}

}  // namespace tapir::app
