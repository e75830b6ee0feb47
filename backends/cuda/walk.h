// Positions in strided views, prepared on the host and used by kernels.
#pragma once

#include <array>

#include "backends/philox.h"  // TAPIR_HOST_DEVICE
#include "backends/view.h"

namespace tapir::cuda {

// The elements of kViews strided views of one shape. Axes of size 1 are dropped, and neighbouring
// axes are merged where every view steps through both as through one.
template <int kViews>
struct Walk {
  int rank = 0;
  int64_t count = 1;
  int64_t sizes[kMaxRank] = {};
  int64_t steps[kMaxRank][kViews] = {};

  Walk(const Shape& shape, const std::array<Strides, kViews>& strides) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      count *= shape[axis];
      if (shape[axis] != 1) add_axis(shape[axis], axis, strides);
    }
  }

  // Where element i, in row-major order, stands in each view.
  TAPIR_HOST_DEVICE void locate(int64_t i, int64_t (&at)[kViews]) const {
    for (int view = 0; view < kViews; ++view) at[view] = 0;
    for (int axis = rank - 1; axis >= 0; --axis) {
      int64_t position = i;
      if (axis > 0) {
        // Division of 32 bits is several times faster, and enough for nearly all tensors.
        if (count <= 0xffffffff) {
          const uint32_t whole = static_cast<uint32_t>(i),
                         size = static_cast<uint32_t>(sizes[axis]);
          position = whole % size;
          i = whole / size;
        } else {
          position = i % sizes[axis];
          i /= sizes[axis];
        }
      }
      for (int view = 0; view < kViews; ++view) at[view] += position * steps[axis][view];
    }
  }

 private:
  void add_axis(int64_t size, int axis, const std::array<Strides, kViews>& strides) {
    bool merges = rank > 0;
    for (int view = 0; view < kViews && merges; ++view)
      merges = steps[rank - 1][view] == size * strides[static_cast<size_t>(view)][axis];
    if (merges) {
      sizes[rank - 1] *= size;
    } else {
      sizes[rank++] = size;
    }
    for (int view = 0; view < kViews; ++view)
      steps[rank - 1][view] = strides[static_cast<size_t>(view)][axis];
  }
};

// Some of the axes of one view, neighbours merged where possible.
struct Axes {
  int rank = 0;
  int64_t sizes[kMaxRank] = {};
  int64_t steps[kMaxRank] = {};

  // `adjacent` tells whether the axis follows directly on the one added before.
  void add(int64_t size, int64_t step, bool adjacent) {
    if (adjacent && rank > 0 && steps[rank - 1] == size * step) {
      sizes[rank - 1] *= size;
    } else {
      sizes[rank++] = size;
    }
    steps[rank - 1] = step;
  }

  int64_t count() const {
    int64_t total = 1;
    for (int axis = 0; axis < rank; ++axis) total *= sizes[axis];
    return total;
  }

  // The offset of the i-th combination in row-major order.
  TAPIR_HOST_DEVICE int64_t offset(int64_t i) const {
    int64_t total = 0;
    for (int axis = rank - 1; axis > 0; --axis) {
      total += i % sizes[axis] * steps[axis];
      i /= sizes[axis];
    }
    return rank == 0 ? 0 : total + i * steps[0];
  }
};

}  // namespace tapir::cuda
