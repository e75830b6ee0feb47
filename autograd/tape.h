// The tape: operations in the order in which they ran, each with the function that turns the
// gradient of its output into those of its inputs. Running it from the end to the start is the
// backward pass; that order is right because an operation only uses what was recorded before it.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "autograd/tensor.h"
#include "backends/scope.h"

namespace tapir {

// Gradients of the inputs, in their order; an undefined one means "none".
using Backward = std::function<std::vector<Tensor>(const Tensor& grad)>;

// Records the current thread's operations until the end of its scope, if one of their inputs
// requires grad. Outside of any tape nothing is recorded. Tapes nest: the innermost records.
class Tape {
 public:
  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  // Adds d(loss)/d(leaf) to the grad of every leaf that requires it. `loss` has one element. Each
  // node is freed as it runs; afterwards the tape is spent, and a second call is an Error.
  void backward(const Tensor& loss);
  // The same from any output, with the gradient that arrives there.
  void backward(const Tensor& output, const Tensor& seed);

  // The tape that records now, or null: none in scope, paused by NoGrad, or spent.
  static Tape* recording();

  size_t size() const { return nodes_.size(); }

  // One recorded operation, to look at.
  struct NodeInfo {
    std::string_view op;
    std::string_view layer;
    std::vector<int64_t> inputs;  // node indices, -1 for a leaf
    Shape output_shape;
  };
  NodeInfo info(size_t node) const;

 private:
  friend class TapeRecorder;
  friend class Tensor;

  struct Edge {  // where the gradient of one input goes
    int64_t node = -1;
    std::shared_ptr<TensorImpl> leaf;  // set when the input is a leaf that requires grad
    Shape shape;
    bool wanted() const { return node >= 0 || leaf; }
  };
  struct SeenVersion {
    std::weak_ptr<Storage> storage;
    uint64_t version;
  };
  struct Node {
    std::string_view op;
    Scope::Path layer;
    Shape output_shape;
    std::vector<Edge> edges;
    std::vector<SeenVersion> seen;  // inputs and output, to catch in-place writes
    std::weak_ptr<TensorImpl> output;
    std::vector<GradHook> hooks;
    Backward backward;
  };

  void run(Node& node, Tensor grad, std::vector<Tensor>& grads);
  void deliver(const Node& node, size_t input, Tensor grad, std::vector<Tensor>& grads);
  void finish_hooked_leaves();

  std::vector<Node> nodes_;
  std::vector<std::pair<std::shared_ptr<TensorImpl>, Tensor>> hooked_leaves_;
  uint64_t id_;
  Tape* outer_;
  bool outer_paused_;
  bool spent_ = false;
};

// Pauses recording on this thread until the end of its scope.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

// Behind record(): kept apart so that the common case, nothing to record, stays inline and makes
// no std::function.
class TapeRecorder {
 public:
  // The recording tape if one of the inputs requires grad, else null. Checks that recorded inputs
  // belong to it.
  static Tape* wants(std::string_view op, std::span<const Tensor> inputs);
  static Tensor add(Tape& tape, std::string_view op, Tensor output, std::span<const Tensor> inputs,
                    Backward backward);
  // Tells an observer, and in anomaly mode stops at a non-finite output.
  static void forward_done(std::string_view op, const Tensor& output);
};

// Every differentiable operation ends with this: returns `output`, and on a recording tape notes
// how to go back. What `backward` captures is what stays alive until the backward pass.
// `op` must outlive the tape (a string literal).
template <typename Function>
Tensor record(std::string_view op, Tensor output, std::initializer_list<Tensor> inputs,
              Function&& backward) {
  return record(op, std::move(output), std::span<const Tensor>(inputs.begin(), inputs.size()),
                std::forward<Function>(backward));
}

template <typename Function>
Tensor record(std::string_view op, Tensor output, std::span<const Tensor> inputs,
              Function&& backward) {
  TapeRecorder::forward_done(op, output);
  Tape* tape = TapeRecorder::wants(op, inputs);
  if (!tape) return output;
  return TapeRecorder::add(*tape, op, std::move(output), inputs,
                           Backward(std::forward<Function>(backward)));
}

// The form with one function per input: a function whose input needs no gradient is dropped at
// once, together with what it captured.
using InputBackward = std::function<Tensor(const Tensor& grad)>;
struct InputGradient {
  Tensor input;
  InputBackward backward;
};
Tensor record(std::string_view op, Tensor output, std::vector<InputGradient> inputs);

}  // namespace tapir
