// Watching operations and the backward pass as they happen: what inspection and profiles build on.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace tapir {

class Tape;
class Tensor;
struct TensorImpl;

// While alive, the operations and tapes of its thread report to it; the innermost of several is
// told. Without one, an operation pays for a look at a thread-local pointer.
class TapeObserver {
 public:
  using Backward = std::function<std::vector<Tensor>(const Tensor& grad)>;

  TapeObserver() : outer_(current_) { current_ = this; }
  virtual ~TapeObserver() { current_ = outer_; }
  TapeObserver(const TapeObserver&) = delete;
  TapeObserver& operator=(const TapeObserver&) = delete;

  static TapeObserver* current() { return current_; }

  // A tensor was made: a new buffer or another view of one.
  virtual void tensor_made(const std::shared_ptr<TensorImpl>&) {}
  // An operation has its output. It may be part of another operation or of a gradient function.
  virtual void operation_done(std::string_view /*op*/, const Tensor& /*output*/) {}
  // The operation became a node of a tape. A copy of `backward` holds what the node saved.
  virtual void node_recorded(const Tape&, size_t /*node*/, std::span<const Tensor> /*inputs*/,
                             const Tensor& /*output*/, const Backward& /*backward*/) {}
  // A node is about to turn the gradient of its output into those of its inputs; and it has, has
  // handed them on, and has let go of what it saved. Its layer is in scope.
  virtual void backward_begins(const Tape&, size_t /*node*/, std::string_view /*op*/,
                               const Tensor& /*grad*/) {}
  virtual void backward_ended(const Tape&, size_t /*node*/) {}

  // Nothing is reported until the end of its scope: for an observer's own computations.
  class Paused {
   public:
    Paused() : before_(current_) { current_ = nullptr; }
    ~Paused() { current_ = before_; }
    Paused(const Paused&) = delete;
    Paused& operator=(const Paused&) = delete;

   private:
    TapeObserver* before_;
  };

 private:
  TapeObserver* outer_;
  static constinit inline thread_local TapeObserver* current_ = nullptr;
};

}  // namespace tapir
