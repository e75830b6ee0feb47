#include "autograd/mapped_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/error.h"

namespace tapir {

MappedFile::MappedFile(const std::filesystem::path& path, std::string_view op) {
  // Without O_NONBLOCK, opening a pipe would wait for somebody to write to it.
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  require(file >= 0 || errno != ENOENT, op, "{}: no such file", path.string());
  require(file >= 0, op, "{}: cannot be opened: {}", path.string(), std::strerror(errno));
  struct stat status {};
  const bool regular = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  void* mapping = MAP_FAILED;
  if (regular && status.st_size > 0) {
    size_ = static_cast<uint64_t>(status.st_size);
    mapping = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file, 0);
  }
  const int reason = errno;
  ::close(file);
  require(regular, op, "{}: is not a file", path.string());
  if (status.st_size == 0) return;
  require(mapping != MAP_FAILED, op, "{}: cannot be mapped into memory: {}", path.string(),
          std::strerror(reason));
  data_ = static_cast<unsigned char*>(mapping);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(data_, size_);
}

}  // namespace tapir
