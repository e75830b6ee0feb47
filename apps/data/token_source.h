// Where token ids lie.
#pragma once

#include <cstdint>
#include <span>

namespace tapir::app {

// Does not change once it is read from, so that several threads may.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  virtual int64_t size() const = 0;  // in ids
  // Copies the ids [begin, begin + out.size()), which must exist.
  virtual void read(int64_t begin, std::span<int32_t> out) const = 0;
  // Of memory that an id takes; 0 where the ids stay in a file.
  virtual int64_t bytes_per_id_in_memory() const = 0;
  // Changes when the ids do.
  virtual uint64_t fingerprint() const = 0;
};

}  // namespace tapir::app
