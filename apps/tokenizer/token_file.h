// Token ids in a file, mapped into memory. docs/tokenizer.md has the format.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tapir::app {

class Tokenizer;

// Writes a token file piece by piece: u16 ids for a vocabulary of at most 65,536, else u32. It gets
// its name when it is complete; without finish() nothing is left behind.
class TokenFileWriter {
 public:
  // Of the tokenizer only the vocabulary's size and the hash are kept. A path that cannot be
  // written is an Error.
  TokenFileWriter(const std::filesystem::path& path, const Tokenizer& tokenizer);
  ~TokenFileWriter();
  TokenFileWriter(const TokenFileWriter&) = delete;
  TokenFileWriter& operator=(const TokenFileWriter&) = delete;

  // An id outside the vocabulary, or a full disk, is an Error.
  void append(std::span<const int32_t> ids);

  // Completes the file and gives it its name.
  void finish();

  int64_t size() const;

 private:
  struct State;
  void flush_block();
  void write_bytes(const void* bytes, size_t count);

  std::unique_ptr<State> state_;
};

// Reads a token file. One that is truncated, of another format or version, or corrupted is an
// Error: a small one when it is opened, a large one when the corrupted block is first read. Safe to
// use from several threads.
class TokenFile {
 public:
  explicit TokenFile(const std::filesystem::path& path);
  ~TokenFile();
  TokenFile(const TokenFile&) = delete;
  TokenFile& operator=(const TokenFile&) = delete;

  // The number of ids.
  int64_t size() const { return size_; }
  int32_t vocab_size() const { return vocab_size_; }
  int bytes_per_id() const { return bytes_per_id_; }
  const std::string& tokenizer_hash() const { return tokenizer_hash_; }

  // Changes when the ids do: every block's checksum goes into it.
  uint64_t fingerprint() const { return fingerprint_; }

  // An Error unless the file was made with this tokenizer.
  void require_tokenizer(const Tokenizer& tokenizer) const;

  // Copies the ids [begin, begin + out.size()), which must exist.
  void read(int64_t begin, std::span<int32_t> out) const;

  // Checks all blocks.
  void verify() const;

 private:
  void read_header(const uint8_t* header, uint64_t file_size);
  void verify_block(int64_t block) const;

  std::filesystem::path path_;
  const uint8_t* mapping_ = nullptr;
  size_t mapped_bytes_ = 0;
  const uint8_t* ids_ = nullptr;
  const uint8_t* checksums_ = nullptr;
  int64_t size_ = 0;
  int64_t block_count_ = 0;
  int32_t vocab_size_ = 0;
  int bytes_per_id_ = 0;
  uint64_t fingerprint_ = 0;
  std::string tokenizer_hash_;
  std::unique_ptr<std::atomic<bool>[]> verified_;  // by block
};

// Whether a file begins as token files do.
bool is_token_file(const std::filesystem::path& path);

}  // namespace tapir::app
