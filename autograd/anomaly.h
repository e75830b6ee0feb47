// Anomaly mode: stop at the first NaN or infinity instead of training on it.
#pragma once

#include <cstdint>
#include <string_view>

namespace tapir {

class Tensor;

// While alive, every operation's output and every gradient of this thread is checked; the first
// value that is not finite is an Error naming operation, layer, direction and step. Costs a pass
// over each tensor.
class DetectAnomaly {
 public:
  explicit DetectAnomaly(bool enabled = true);
  ~DetectAnomaly();
  DetectAnomaly(const DetectAnomaly&) = delete;
  DetectAnomaly& operator=(const DetectAnomaly&) = delete;

  static bool enabled();
  // The training step that reports name; -1 for none.
  static void set_step(int64_t step);
  static int64_t step();

  // For the tape: the Error if x holds a value that is not finite. `what` says which of op's
  // tensors x is.
  static void check(std::string_view op, std::string_view what, const Tensor& x);

 private:
  bool before_;
};

}  // namespace tapir
