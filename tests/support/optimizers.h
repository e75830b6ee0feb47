// Follows an optimizer along the steps that PyTorch took.
#pragma once

#include <vector>

#include "optim/optimizer.h"
#include "tests/support/golden.h"

namespace tapir::testing {

inline Tensor leaf(std::initializer_list<double> values, const Shape& shape,
                   DType dtype = DType::f64) {
  return Tensor::from(values, shape, dtype).set_requires_grad();
}

// The case's parameters as they were before the first step.
inline std::vector<NamedTensor> golden_parameters(const GoldenCase& golden, DType dtype) {
  std::vector<NamedTensor> parameters;
  for (const auto& entry : golden.under("param.", dtype)) {
    parameters.push_back({entry.first, Tensor(entry.second).set_requires_grad()});
  }
  return parameters;
}

// Takes every step of the case with its gradients, and compares the parameters after each.
inline void expect_golden_steps(optim::Optimizer& optimizer,
                                const std::vector<NamedTensor>& parameters,
                                const GoldenCase& golden, DType dtype) {
  for (int64_t step = 0; step < golden.options["steps"]; ++step) {
    for (const NamedTensor& p : parameters) {
      p.tensor.set_grad(contiguous(select(golden.get("grads." + p.name, dtype), 0, step)));
    }
    optimizer.step();
    for (const NamedTensor& p : parameters) {
      expect_close(p.tensor, select(golden.get("after." + p.name, dtype), 0, step),
                   golden_tolerance(dtype),
                   fmt::format("{} {} after step {}", golden.name, p.name, step));
    }
  }
}

}  // namespace tapir::testing
