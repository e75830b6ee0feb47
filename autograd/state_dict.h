// Tensors with names: what a module or an optimizer consists of, and what a file can hold.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/tensor.h"

namespace tapir {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

using StateDict = std::map<std::string, Tensor>;

// Missing, unexpected and mis-shaped keys of `state` are one Error that lists them all.
void check_tensors(std::string_view op, const std::vector<NamedTensor>& targets,
                   const StateDict& state);

// Copies the values of `state` into the targets of the same name, converting dtype and device.
// An Error as of check_tensors() comes before anything is written.
void load_tensors(std::string_view op, const std::vector<NamedTensor>& targets,
                  const StateDict& state);

}  // namespace tapir
