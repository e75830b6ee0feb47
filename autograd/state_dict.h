// Tensors with names: what a module or an optimizer consists of, and what a file can hold.
#pragma once

#include <map>
#include <string>

#include "autograd/tensor.h"

namespace tapir {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

using StateDict = std::map<std::string, Tensor>;

}  // namespace tapir
