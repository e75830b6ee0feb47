// Where in the model the current thread is: the path of the layer whose forward pass is running.
#pragma once

#include <memory>
#include <string>

namespace tapir {

// While a Scope is alive, errors, the tape and anomaly reports name its path ("layers.0.attn").
// Scopes nest and the innermost one wins, because paths are already complete.
class Scope {
 public:
  using Path = std::shared_ptr<const std::string>;

  explicit Scope(Path path) : outer_(std::move(current_)) { current_ = std::move(path); }
  ~Scope() { current_ = std::move(outer_); }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

  // The innermost path, or an empty string outside every scope.
  static const std::string& path() {
    static const std::string none;
    return current_ ? *current_ : none;
  }
  static const Path& shared_path() { return current_; }

 private:
  Path outer_;
  static inline thread_local Path current_;
};

}  // namespace tapir
