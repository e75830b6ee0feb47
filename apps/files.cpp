#include "apps/files.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "autograd/serialize.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_with_errno(std::string_view action, const fs::path& path) {
  fail("save", "cannot {} {}: {}", action, path.string(), std::strerror(errno));
}

// Lets the two change places, and removes what was at `target`.
void exchange_and_remove(const fs::path& source, const fs::path& target) {
  const int exchanged =
      renameat2(AT_FDCWD, source.c_str(), AT_FDCWD, target.c_str(), RENAME_EXCHANGE);
  if (exchanged != 0) fail_with_errno("replace", target);
  std::error_code ignored;
  fs::remove_all(source, ignored);
}

}  // namespace

RemovedUnlessMoved::~RemovedUnlessMoved() {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

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
    // The target exists and is not empty.
    if (errno != ENOTEMPTY && errno != EEXIST) fail_with_errno("create", target);
    exchange_and_remove(source, target);
  }
  sync_folder(target.parent_path());
}

void replace_link(const fs::path& link, const fs::path& target) {
  const fs::path temporary = link.string() + ".new";
  unlink(temporary.c_str());
  if (symlink(target.c_str(), temporary.c_str()) != 0) {
    const bool unknown = errno == EPERM || errno == EOPNOTSUPP || errno == ENOSYS;
    if (!unknown) fail_with_errno("create", temporary);
    write_file_atomically(link, target.string() + "\n");
    return;
  }
  if (rename(temporary.c_str(), link.c_str()) != 0) {
    if (errno != EISDIR) fail_with_errno("replace", link);
    exchange_and_remove(temporary, link);
  }
  sync_folder(link.parent_path());
}

fs::path link_target(const fs::path& link) {
  std::error_code error;
  const fs::path target = fs::read_symlink(link, error);
  if (!error) return target;
  if (!fs::is_regular_file(link, error)) return {};
  // A longer one is no name, and other systems end a line with more than a new line.
  std::array<char, 256> start{};
  std::ifstream(link, std::ios::binary).read(start.data(), start.size());
  const std::string_view text(start.data(), start.size());
  const size_t end = text.find_first_of(std::string_view("\r\n\0", 3));
  if (end == std::string_view::npos) return {};
  return fs::path(text.substr(0, end)).filename();
}

void require_replaceable(const fs::path& path, std::string_view start) {
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) == 0) return;
  std::ifstream file(path, std::ios::binary);
  std::string begin(start.size(), '\0');
  file.read(begin.data(), static_cast<std::streamsize>(begin.size()));
  require(begin == start, "write",
          "{} exists and is something else; remove it or choose another name", path.string());
}

std::string file_checksum(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  require(file.good(), "checksum", "cannot open {}: {}", path.string(), std::strerror(errno));
  std::vector<uint64_t> words(1 << 16);
  // Multiplying spreads a change to the higher bits and the shift brings it back to the lower ones.
  uint64_t sum = 0x9e3779b97f4a7c15;
  const auto add = [&sum](uint64_t word) {
    sum = (sum ^ word) * 0xd6e8feb86659fd93;
    sum ^= sum >> 32;
  };
  uint64_t size = 0;
  while (file) {
    file.read(reinterpret_cast<char*>(words.data()),
              static_cast<std::streamsize>(words.size() * sizeof(uint64_t)));
    const auto bytes = static_cast<size_t>(file.gcount());
    std::memset(reinterpret_cast<char*>(words.data()) + bytes, 0, -bytes % sizeof(uint64_t));
    for (size_t i = 0; i * sizeof(uint64_t) < bytes; ++i) add(words[i]);
    size += bytes;
  }
  require(!file.bad(), "checksum", "cannot read {}: {}", path.string(), std::strerror(errno));
  add(size);
  return fmt::format("{:016x}", sum);
}

}  // namespace tapir::app
