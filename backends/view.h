// What a kernel receives: a pointer with its dtype, shape and strides. Owns nothing.
#pragma once

#include "backends/dtype.h"
#include "backends/shape.h"

namespace tapir {

template <typename Pointer>
struct BasicView {
  Pointer data = nullptr;  // the first element, with the tensor's offset already applied
  DType dtype = DType::f32;
  Shape shape;
  Strides strides;  // in elements; 0 repeats an element (broadcasting)

  int rank() const { return shape.rank(); }
  int64_t size(int axis) const { return shape[axis < 0 ? axis + rank() : axis]; }
  int64_t stride(int axis) const { return strides[axis < 0 ? axis + rank() : axis]; }
  int64_t numel() const { return tapir::numel(shape); }
  bool contiguous() const { return is_contiguous(shape, strides); }

  // Rows of the last axis: everything before it flattened. A scalar is one row of one element.
  int64_t row_length() const { return rank() == 0 ? 1 : shape.back(); }
  int64_t rows() const {
    int64_t count = 1;
    for (int axis = 0; axis + 1 < rank(); ++axis) count *= shape[axis];
    return count;
  }

  template <typename T>
  auto as() const {
    if constexpr (std::is_const_v<std::remove_pointer_t<Pointer>>)
      return static_cast<const T*>(data);
    else
      return static_cast<T*>(data);
  }

  // A View may be used where a ConstView is asked for.
  operator BasicView<const void*>() const requires(!std::is_same_v<Pointer, const void*>) {
    return {data, dtype, shape, strides};
  }
};

using View = BasicView<void*>;
using ConstView = BasicView<const void*>;

}  // namespace tapir
