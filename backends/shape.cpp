#include "backends/shape.h"

#include <algorithm>

#include <fmt/ranges.h>

namespace tapir {

Dims::Dims(std::initializer_list<int64_t> values) {
  for (int64_t value : values) push_back(value);
}

Dims::Dims(const std::vector<int64_t>& values) {
  for (int64_t value : values) push_back(value);
}

bool Dims::operator==(const Dims& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

void Dims::push_back(int64_t value) {
  insert(rank_, value);
}

void Dims::insert(int axis, int64_t value) {
  require(rank_ < kMaxRank, "shape",
          "more than {} dimensions are not supported, got {} and one more", kMaxRank, to_string());
  std::copy_backward(values_.begin() + axis, values_.begin() + rank_, values_.begin() + rank_ + 1);
  values_[static_cast<size_t>(axis)] = value;
  ++rank_;
}

void Dims::erase(int axis) {
  std::copy(values_.begin() + axis + 1, values_.begin() + rank_, values_.begin() + axis);
  --rank_;
}

std::string Dims::to_string() const {
  return fmt::format("[{}]", fmt::join(begin(), end(), ", "));
}

int64_t numel(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

Strides row_major_strides(const Shape& shape) {
  Strides strides = shape;
  int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[axis] = step;
    step *= shape[axis];
  }
  return strides;
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  int64_t step = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] != 1 && strides[axis] != step) return numel(shape) == 0;
    step *= shape[axis];
  }
  return true;
}

Dims coordinates(const Shape& shape, int64_t flat) {
  Dims position = shape;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    position[axis] = flat % shape[axis];
    flat /= shape[axis];
  }
  return position;
}

Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out;
  for (int i = 0; i < rank; ++i) {
    const int from_a = i - (rank - a.rank()), from_b = i - (rank - b.rank());
    const int64_t size_a = from_a < 0 ? 1 : a[from_a], size_b = from_b < 0 ? 1 : b[from_b];
    require(size_a == size_b || size_a == 1 || size_b == 1, op,
            "shapes {} and {} do not broadcast; sizes must be equal or 1, aligned from the right",
            a, b);
    out.push_back(size_a == 1 ? size_b : size_a);
  }
  return out;
}

int normalize_axis(std::string_view op, int64_t axis, int rank) {
  require(axis >= -rank && axis < rank, op, "axis {} is out of range for {} dimension{}", axis,
          rank, rank == 1 ? "" : "s");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace tapir
