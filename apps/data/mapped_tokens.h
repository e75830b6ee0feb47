// A token file as a source of tokens.
#pragma once

#include "apps/data/token_source.h"
#include "apps/tokenizer/token_file.h"

namespace tapir::app {

// The ids stay in the file: the system reads what is used, and drops it when memory is needed.
class MappedTokens : public TokenSource {
 public:
  explicit MappedTokens(const std::filesystem::path& path) : file_(path) {}

  const TokenFile& file() const { return file_; }
  int64_t size() const override { return file_.size(); }
  void read(int64_t begin, std::span<int32_t> out) const override { file_.read(begin, out); }
  int64_t bytes_per_id_in_memory() const override { return 0; }
  uint64_t fingerprint() const override { return file_.fingerprint(); }

 private:
  TokenFile file_;
};

}  // namespace tapir::app
