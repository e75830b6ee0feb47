// A long row of token ids.
#pragma once

#include <memory>
#include <vector>

#include "apps/data/token_source.h"

namespace tapir::app {

// Slices of one or more sources, one after the other. Copying shares the sources.
class TokenSequence {
 public:
  TokenSequence() = default;
  // All of a source.
  explicit TokenSequence(std::shared_ptr<const TokenSource> source);

  int64_t size() const { return slices_.empty() ? 0 : slices_.back().end; }
  int64_t memory_bytes() const;

  // Appends the ids [begin, begin + count) of the source.
  void append(std::shared_ptr<const TokenSource> source, int64_t begin, int64_t count);
  // The ids [begin, begin + count) of this one.
  TokenSequence part(int64_t begin, int64_t count) const;
  void append(const TokenSequence& other);

  // Copies tokens [begin, begin + out.size()), which must exist.
  void copy(int64_t begin, std::span<int32_t> out) const;

  // Changes when the tokens do.
  uint64_t fingerprint() const;

 private:
  struct Slice {
    std::shared_ptr<const TokenSource> source;
    int64_t begin = 0;  // in the source
    int64_t count = 0;
    int64_t end = 0;  // in the sequence
  };

  // The slice that holds the token.
  size_t slice_of(int64_t position) const;

  std::vector<Slice> slices_;
};

}  // namespace tapir::app
