#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/tokenizer/token_file.h"
#include "apps/tokenizer/token_format.h"
#include "apps/tokenizer/tokenizer.h"
#include "backends/error.h"
#include "backends/file_place.h"

namespace tapir::app {
namespace {

using token_format::Header;
using token_format::kBlockBytes;

constexpr const char* kOp = "token file";

// Whether the open file still has that name.
bool is_at(int file, const std::filesystem::path& path) {
  struct stat opened {
  }, named{};
  return ::fstat(file, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

// Opens the file, empty and locked until it is closed, so that no other process writes into it. One
// that a killed process left behind is taken over. Where the file system has no locks, there is
// none.
std::FILE* open_locked(const std::filesystem::path& path) {
  for (;;) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    require(file >= 0, kOp, "{} cannot be written: {}", path.string(), std::strerror(errno));
    if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(file);
      fail(kOp, "another program is writing {}; wait for it, or choose another file with --out",
           path.string());
    }
    // Between the two calls the other program may have finished and renamed the file.
    if (!is_at(file, path)) {
      ::close(file);
      continue;
    }
    std::FILE* const stream = ::ftruncate(file, 0) == 0 ? ::fdopen(file, "wb") : nullptr;
    if (stream != nullptr) return stream;
    const int error = errno;
    ::close(file);
    fail(kOp, "{} cannot be written: {}", path.string(), std::strerror(error));
  }
}

}  // namespace

struct TokenFileWriter::State {
  std::filesystem::path path;
  std::filesystem::path temporary;
  std::FILE* file = nullptr;
  Header header{};
  std::vector<uint8_t> block;
  std::vector<uint64_t> checksums;

  // Removed first: once it is closed it may be another program's.
  void discard() {
    std::remove(temporary.c_str());
    std::fclose(std::exchange(file, nullptr));
  }
};

TokenFileWriter::TokenFileWriter(const std::filesystem::path& path, const Tokenizer& tokenizer)
    : state_(std::make_unique<State>()) {
  state_->path = file_place(kOp, path);
  state_->temporary = state_->path;
  state_->temporary += ".tmp";
  Header& header = state_->header;
  std::memcpy(header.magic, token_format::kMagic, sizeof(header.magic));
  header.version = token_format::kVersion;
  header.vocab_size = static_cast<uint32_t>(tokenizer.vocab_size());
  header.bytes_per_id = header.vocab_size <= 65536 ? 2 : 4;
  header.block_bytes = kBlockBytes;
  std::memcpy(header.tokenizer_hash, tokenizer.hash().data(), token_format::kHashDigits);
  state_->block.reserve(kBlockBytes);
  state_->file = open_locked(state_->temporary);
  try {
    write_bytes(&header, sizeof(header));  // replaced by finish()
  } catch (...) {
    state_->discard();
    throw;
  }
}

TokenFileWriter::~TokenFileWriter() {
  if (state_->file != nullptr) state_->discard();
}

int64_t TokenFileWriter::size() const {
  return static_cast<int64_t>(state_->header.count);
}

void TokenFileWriter::append(std::span<const int32_t> ids) {
  Header& header = state_->header;
  for (const int32_t id : ids) {
    require(id >= 0 && static_cast<uint32_t>(id) < header.vocab_size, kOp,
            "token id {} is outside 0 .. {}", id, header.vocab_size - 1);
    const auto value = static_cast<uint32_t>(id);
    const auto* const bytes = reinterpret_cast<const uint8_t*>(&value);
    state_->block.insert(state_->block.end(), bytes, bytes + header.bytes_per_id);
    ++header.count;
    if (state_->block.size() == kBlockBytes) flush_block();
  }
}

void TokenFileWriter::finish() {
  if (!state_->block.empty()) flush_block();
  Header& header = state_->header;
  const uint64_t id_bytes = header.count * header.bytes_per_id;
  // The padding is part of what the last checksum covers.
  std::vector<uint8_t> tail(token_format::round_up_to_8(id_bytes) - id_bytes);
  const auto* const table = reinterpret_cast<const uint8_t*>(state_->checksums.data());
  tail.insert(tail.end(), table, table + 8 * state_->checksums.size());
  const uint64_t tail_checksum = token_format::checksum(tail.data(), tail.size());
  write_bytes(tail.data(), tail.size());
  write_bytes(&tail_checksum, sizeof(tail_checksum));
  header.header_checksum = token_format::checksum(&header, offsetof(Header, header_checksum));
  std::rewind(state_->file);
  write_bytes(&header, sizeof(header));
  const bool synced = std::fflush(state_->file) == 0 && ::fsync(fileno(state_->file)) == 0;
  std::error_code error(synced ? 0 : errno, std::generic_category());
  // Renamed while it is locked, so that it is this program's file that gets the name.
  if (!error) std::filesystem::rename(state_->temporary, state_->path, error);
  if (error) {
    state_->discard();
    fail(kOp, "{} cannot be completed: {}", state_->path.string(), error.message());
  }
  std::fclose(std::exchange(state_->file, nullptr));
}

void TokenFileWriter::flush_block() {
  state_->checksums.push_back(token_format::checksum(state_->block.data(), state_->block.size()));
  write_bytes(state_->block.data(), state_->block.size());
  state_->block.clear();
}

void TokenFileWriter::write_bytes(const void* bytes, size_t count) {
  if (count == 0) return;
  const bool written = std::fwrite(bytes, 1, count, state_->file) == count;
  require(written, kOp, "{} cannot be written: {}", state_->temporary.string(),
          std::strerror(errno));
}

}  // namespace tapir::app
