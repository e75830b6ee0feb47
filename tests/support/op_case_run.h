// Runs a case of the table of operations, forward and backward.
#pragma once

#include <cctype>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "autograd/op_cases.h"
#include "autograd/ops.h"

namespace tapir::testing {

struct Result {
  Tensor output;
  std::vector<Tensor> grads;
};

// Forward and all gradients under a fixed random weighted sum, the same on every device. An output
// that records nothing (a reference made of host loops) gives no gradients.
inline Result run(const OpFunction& function, const std::vector<Tensor>& inputs) {
  Tape tape;
  Result result;
  result.output = function(inputs);
  if (!result.output.requires_grad()) return result;
  Generator generator(17);
  const Tensor seed =
      to(randn(result.output.shape(), generator, DType::f64), result.output.dtype());
  tape.backward(result.output, to(seed, result.output.device()));
  for (const Tensor& input : inputs) {
    result.grads.push_back(input.grad().defined() ? input.grad() : Tensor::zeros_like(input));
  }
  return result;
}

// The name of a test over the case of that index.
inline std::string case_name(const ::testing::TestParamInfo<size_t>& info) {
  std::string name = fmt::format("{}_{}", op_cases()[info.param].name(), info.param);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  }
  return name;
}

}  // namespace tapir::testing
