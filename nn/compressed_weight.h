// The weight of a layer in fewer bytes, for inference.
#pragma once

#include <optional>
#include <string_view>

#include "autograd/tensor.h"
#include "backends/compressed_matrix.h"

namespace tapir::nn {

class Module;

// Made once, then read by every pass. Nothing that it computes has a gradient.
class CompressedWeight {
 public:
  // weight f32 [rows, columns]. A number that is not finite is an Error, as is a number of columns
  // that the groups of int8 do not divide. So are ids or x on another device.
  CompressedWeight(const Tensor& weight, Compression compression);

  Tensor rows(const Tensor& ids) const;   // i32 [...] -> f32 [..., columns]
  Tensor product(const Tensor& x) const;  // x w^T: f32 [..., columns] -> [..., rows]
  int64_t bytes() const;
  const CompressedMatrix& matrix() const { return matrix_; }  // for kernels

 private:
  CompressedMatrix matrix_;
  Storage values_, scales_;
};

// Nothing for "f32", which is how weights are without compression; an unknown name is an Error.
std::optional<Compression> parse_weights(std::string_view name);

// From now on every Linear and Embedding in `module` computes with a compressed copy of its weight;
// tied weights share one. What else there is, such as norms and biases, stays as it is. The weights
// themselves are given up: where they were, NaN is seen everywhere, so a checkpoint of the module
// is worth nothing, and a pass that records is an Error.
void compress_weights(Module& module, Compression compression);

}  // namespace tapir::nn
