// Shapes and strides: short inline arrays, so that making a view allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "backends/error.h"

namespace tapir {

inline constexpr int kMaxRank = 6;

// Up to kMaxRank integers. Used for sizes (Shape) and for element steps (Strides).
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values);
  explicit Dims(const std::vector<int64_t>& values);

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  int64_t operator[](int axis) const { return values_[static_cast<size_t>(axis)]; }
  int64_t& operator[](int axis) { return values_[static_cast<size_t>(axis)]; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + rank_; }
  int64_t back() const { return values_[static_cast<size_t>(rank_ - 1)]; }
  bool operator==(const Dims& other) const;

  void push_back(int64_t value);
  void insert(int axis, int64_t value);
  void erase(int axis);

  std::string to_string() const;  // "[2, 3]"

 private:
  std::array<int64_t, kMaxRank> values_{};
  int rank_ = 0;
};

using Shape = Dims;
using Strides = Dims;

// The number of elements; 1 for a scalar's shape [].
int64_t numel(const Shape& shape);

// Steps of a densely packed tensor whose last axis varies fastest.
Strides row_major_strides(const Shape& shape);

// Whether those strides step through the elements in row-major order without gaps.
bool is_contiguous(const Shape& shape, const Strides& strides);

// The position of the element that comes `flat`-th in row-major order.
Dims coordinates(const Shape& shape, int64_t flat);

// The common shape of two operands under the usual rule (align right; equal, or one of them 1).
// Incompatible shapes are an Error naming `op` and both.
Shape broadcast_shapes(std::string_view op, const Shape& a, const Shape& b);

// `axis` counted from the front, for -rank <= axis < rank; otherwise an Error.
int normalize_axis(std::string_view op, int64_t axis, int rank);

}  // namespace tapir

template <>
struct fmt::formatter<tapir::Dims> : fmt::formatter<std::string_view> {
  auto format(const tapir::Dims& dims, format_context& context) const {
    return fmt::formatter<std::string_view>::format(dims.to_string(), context);
  }
};
