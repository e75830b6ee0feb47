#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <utility>

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

}  // namespace

struct TokenFileWriter::State {
  std::filesystem::path path;
  std::filesystem::path temporary;
  std::FILE* file = nullptr;
  Header header{};
  std::vector<uint8_t> block;
  std::vector<uint64_t> checksums;
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
  state_->file = std::fopen(state_->temporary.c_str(), "wb");
  require(state_->file != nullptr, kOp, "{} cannot be written: {}", state_->temporary.string(),
          std::strerror(errno));
  try {
    write_bytes(&header, sizeof(header));  // replaced by finish()
  } catch (...) {
    std::fclose(state_->file);
    std::remove(state_->temporary.c_str());
    throw;
  }
}

TokenFileWriter::~TokenFileWriter() {
  if (state_->file == nullptr) return;
  std::fclose(state_->file);
  std::remove(state_->temporary.c_str());
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
  const bool closed = std::fclose(std::exchange(state_->file, nullptr)) == 0 && synced;
  std::error_code error;
  if (closed) std::filesystem::rename(state_->temporary, state_->path, error);
  if (!closed || error) std::remove(state_->temporary.c_str());
  require(closed && !error, kOp, "{} cannot be completed; is the disk full?",
          state_->path.string());
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
