#include "apps/tokenizer/token_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/tokenizer/token_format.h"
#include "apps/tokenizer/tokenizer.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

using token_format::Header;
using token_format::kBlockBytes;

constexpr const char* kOp = "token file";
constexpr uint64_t kVerifyAtOnce = uint64_t{256} << 20;  // bytes that take a tenth of a second

bool is_hex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

}  // namespace

bool is_token_file(const std::filesystem::path& path) {
  char magic[sizeof(Header::magic)] = {};
  std::ifstream(path, std::ios::binary).read(magic, sizeof(magic));
  return std::memcmp(magic, token_format::kMagic, sizeof(magic)) == 0;
}

TokenFile::TokenFile(const std::filesystem::path& path) : path_(path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  require(file >= 0, kOp, "{} cannot be opened: {}", path.string(), std::strerror(errno));
  struct stat status {};
  const bool known = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
  const auto file_size = static_cast<uint64_t>(status.st_size);
  void* mapping = MAP_FAILED;
  if (known && file_size >= sizeof(Header)) {
    mapping = ::mmap(nullptr, file_size, PROT_READ, MAP_SHARED, file, 0);
  }
  ::close(file);
  require(known, kOp, "{} is not a regular file", path.string());
  require(file_size >= sizeof(Header), kOp, "{} has {} bytes, less than a token file's header",
          path.string(), file_size);
  require(mapping != MAP_FAILED, kOp, "{} cannot be mapped into memory: {}", path.string(),
          std::strerror(errno));
  mapping_ = static_cast<const uint8_t*>(mapping);
  mapped_bytes_ = file_size;
  try {
    read_header(mapping_, file_size);
    if (file_size <= kVerifyAtOnce) verify();
  } catch (...) {
    ::munmap(mapping, file_size);
    throw;
  }
}

TokenFile::~TokenFile() {
  ::munmap(const_cast<uint8_t*>(mapping_), mapped_bytes_);
}

void TokenFile::read_header(const uint8_t* bytes, uint64_t file_size) {
  const std::string name = path_.string();
  Header header;
  std::memcpy(&header, bytes, sizeof(header));
  require(std::memcmp(header.magic, token_format::kMagic, sizeof(header.magic)) == 0, kOp,
          "{} is not a token file; make one with `tapir tokenizer encode`", name);
  require(header.version == token_format::kVersion, kOp, "{} has version {}; this program reads {}",
          name, header.version, token_format::kVersion);
  const uint64_t expected = token_format::checksum(&header, offsetof(Header, header_checksum));
  require(header.header_checksum == expected, kOp, "the header of {} is corrupted", name);
  const std::string_view hash(header.tokenizer_hash, token_format::kHashDigits);
  const bool narrow = header.vocab_size <= 65536;
  require(header.bytes_per_id == (narrow ? 2u : 4u) && header.block_bytes == kBlockBytes &&
              header.vocab_size >= 1 && header.vocab_size <= INT32_MAX && is_hex(hash),
          kOp, "the header of {} contradicts itself", name);
  const uint64_t most = (file_size - sizeof(Header)) / header.bytes_per_id;
  require(header.count <= most, kOp, "{} is truncated: {} ids do not fit into {} bytes", name,
          header.count, file_size);
  const uint64_t id_bytes = header.count * header.bytes_per_id;
  const uint64_t blocks = (id_bytes + kBlockBytes - 1) / kBlockBytes;
  const uint64_t table = sizeof(Header) + token_format::round_up_to_8(id_bytes);
  require(file_size == table + 8 * (blocks + 1), kOp,
          "{} has {} bytes instead of {}: it is truncated or something was added", name, file_size,
          table + 8 * (blocks + 1));
  uint64_t table_checksum = 0;
  std::memcpy(&table_checksum, bytes + table + 8 * blocks, 8);
  const uint64_t ids_end = sizeof(Header) + id_bytes;
  require(token_format::checksum(bytes + ids_end, table + 8 * blocks - ids_end) == table_checksum,
          kOp, "the checksums of {} are corrupted", name);
  ids_ = bytes + sizeof(Header);
  checksums_ = bytes + table;
  fingerprint_ = table_checksum ^ header.header_checksum;
  size_ = static_cast<int64_t>(header.count);
  block_count_ = static_cast<int64_t>(blocks);
  vocab_size_ = static_cast<int32_t>(header.vocab_size);
  bytes_per_id_ = static_cast<int>(header.bytes_per_id);
  tokenizer_hash_ = hash;
  verified_ = std::make_unique<std::atomic<bool>[]>(blocks);
}

void TokenFile::require_tokenizer(const Tokenizer& tokenizer) const {
  require(tokenizer.hash() == tokenizer_hash_, kOp,
          "{} was made with tokenizer {}, not with {}; name that one (in training with "
          "--tokenizer), or encode the text again",
          path_.string(), tokenizer_hash_, tokenizer.hash());
}

void TokenFile::read(int64_t begin, std::span<int32_t> out) const {
  const auto count = static_cast<int64_t>(out.size());
  require(begin >= 0 && begin <= size_ && count <= size_ - begin, kOp,
          "{} ids from {} on were asked for, but {} has {}", count, begin, path_.string(), size_);
  if (out.empty()) return;
  const auto ids_per_block = static_cast<int64_t>(kBlockBytes) / bytes_per_id_;
  for (int64_t b = begin / ids_per_block; b <= (begin + count - 1) / ids_per_block; ++b) {
    if (!verified_[static_cast<size_t>(b)].load(std::memory_order_relaxed)) verify_block(b);
  }
  const uint8_t* const source = ids_ + begin * bytes_per_id_;
  if (bytes_per_id_ == 4) {
    std::memcpy(out.data(), source, 4 * out.size());
    return;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    uint16_t id = 0;
    std::memcpy(&id, source + 2 * i, 2);
    out[i] = id;
  }
}

void TokenFile::verify() const {
  for (int64_t block = 0; block < block_count_; ++block) verify_block(block);
}

void TokenFile::verify_block(int64_t block) const {
  const int64_t begin = block * static_cast<int64_t>(kBlockBytes);
  const int64_t end =
      std::min(begin + static_cast<int64_t>(kBlockBytes), size_ * int64_t{bytes_per_id_});
  uint64_t expected = 0;
  std::memcpy(&expected, checksums_ + 8 * block, 8);
  require(token_format::checksum(ids_ + begin, static_cast<size_t>(end - begin)) == expected, kOp,
          "{} is corrupted between bytes {} and {}", path_.string(), sizeof(Header) + begin,
          sizeof(Header) + end);
  // A correct checksum does not make the ids of a foreign program valid.
  uint32_t largest = 0;
  for (int64_t at = begin; at < end; at += bytes_per_id_) {
    uint32_t id = 0;
    std::memcpy(&id, ids_ + at, static_cast<size_t>(bytes_per_id_));
    largest = std::max(largest, id);
  }
  require(largest < static_cast<uint32_t>(vocab_size_), kOp,
          "{} holds id {}, but its vocabulary has {}", path_.string(), largest, vocab_size_);
  verified_[static_cast<size_t>(block)].store(true, std::memory_order_relaxed);
}

}  // namespace tapir::app
