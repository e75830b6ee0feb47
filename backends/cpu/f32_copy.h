// Dense f32 twins of views of 16-bit floats, for kernels that compute in f32 throughout.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/allocator.h"

namespace tapir::TAPIR_ISA {

class F32Copy {
 public:
  // Room for a tensor of that shape; its contents are undefined.
  explicit F32Copy(const Shape& shape) : scratch_(tapir::numel(shape)) {
    view_ = {scratch_.data(), DType::f32, shape, row_major_strides(shape)};
  }
  F32Copy(const Backend& backend, ConstView x) : F32Copy(x.shape) { backend.copy(x, view_); }

  const View& view() const { return view_; }

 private:
  cpu::Scratch<float> scratch_;
  View view_;
};

}  // namespace tapir::TAPIR_ISA
