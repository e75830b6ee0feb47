#include "apps/training/growing_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include "backends/error.h"

namespace tapir::app {

GrowingFile::GrowingFile(std::filesystem::path path)
    : path_(std::move(path)),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) fail_with_errno();
}

GrowingFile::~GrowingFile() {
  ::close(descriptor_);
}

void GrowingFile::append(std::string_view lines) {
  pending_ += lines;
  const off_t before = ::lseek(descriptor_, 0, SEEK_END);
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      // Half a line would spoil the next one. That it stays is seen when the file is read.
      if (before >= 0 && ::ftruncate(descriptor_, before) != 0) pending_.clear();
      errno = reason;
      fail_with_errno();
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
  pending_.clear();
}

void GrowingFile::sync() {
  append({});
  if (::fsync(descriptor_) != 0) fail_with_errno();
}

void GrowingFile::fail_with_errno() const {
  fail("run folder", "cannot write {}: {}", path_.string(), std::strerror(errno));
}

}  // namespace tapir::app
