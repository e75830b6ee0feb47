#include "autograd/atomic_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "backends/error.h"
#include "backends/file_place.h"

namespace tapir {

AtomicFile::AtomicFile(const std::filesystem::path& path)
    : path_(file_place("write_file", path)),
      temporary_(path_.string() + fmt::format(".tmp-{}", ::getpid())) {
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor_ < 0) fail_with_errno("create");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!committed_) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with_errno("write");
    bytes.remove_prefix(static_cast<size_t>(written));
  }
}

void AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) fail_with_errno("sync");
  if (::close(std::exchange(descriptor_, -1)) != 0) fail_with_errno("close");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_with_errno("rename");
  committed_ = true;
  // The rename itself is durable only once the folder is synced.
  const std::filesystem::path folder = path_.has_parent_path() ? path_.parent_path() : ".";
  const int folder_descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_descriptor >= 0) {
    ::fsync(folder_descriptor);
    ::close(folder_descriptor);
  }
}

void AtomicFile::fail_with_errno(std::string_view action) const {
  const int code = errno;
  const char* remedy = code == ENOSPC  ? "free some space and try again"
                       : code == EFBIG ? "raise the limit of file sizes (ulimit -f)"
                                       : "check the folder and its permissions";
  fail("write_file", "cannot {} {}: {}; {}", action, path_.string(), std::strerror(code), remedy);
}

}  // namespace tapir
