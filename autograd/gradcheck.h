// Gradients checked against central differences of the function itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "autograd/state_dict.h"
#include "autograd/tensor.h"

namespace tapir {

struct GradcheckOptions {
  double step = 1e-5;       // of the central difference; its error is about step^2 and 1e-16 / step
  double tolerance = 1e-7;  // of the error relative to the gradient's scale
  uint64_t seed = 0;        // of the loss weights and of the elements that are sampled
  int64_t max_elements = 0;  // per tensor, sampled; 0 checks every one
  DType dtype = DType::f64;  // that the tensors must have

  // Bounds for f32: its rounding allows no smaller step, and that step no smaller error.
  static GradcheckOptions for_f32() {
    return {.step = 4e-3, .tolerance = 2e-2, .dtype = DType::f32};
  }
};

// The element of one tensor where the two gradients differ most.
struct GradcheckEntry {
  std::string name;
  Shape shape;
  int64_t checked = 0;  // elements
  Shape worst;          // its coordinates
  double analytic = 0, numeric = 0, error = 0;
  bool passed = true;
};

struct GradcheckReport {
  std::vector<GradcheckEntry> entries;

  bool passed() const;
  std::string to_string() const;  // a table
};

// Compares d(sum of random weights * fn()) / d(tensor) with differences, for every tensor, by
// writing to the tensors in place. They must be dense leaves of options.dtype. The error of an
// element is |analytic - numeric| over the largest absolute gradient of its tensor; for tensors
// whose gradient vanishes, over 1e-3 of the largest of all, or over the size at which rounding of
// the loss alone explains a difference. A fn that gives two results for the same tensors, or whose
// output does not depend on any of them through the tape, is an Error.
GradcheckReport gradcheck(const std::function<Tensor()>& fn,
                          const std::vector<NamedTensor>& tensors,
                          const GradcheckOptions& options = {});

// The same for a function of its inputs; names are "input 0", ...
GradcheckReport gradcheck(const std::function<Tensor(const std::vector<Tensor>&)>& fn,
                          const std::vector<Tensor>& inputs, const GradcheckOptions& options = {});

}  // namespace tapir
