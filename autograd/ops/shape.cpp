// Operations that move no data, or only copy it: another way to look at the same elements.
#include <algorithm>
#include <numeric>

#include "autograd/ops.h"

namespace tapir {
namespace {

// The target shape with its -1 filled in.
Shape resolve(std::string_view op, const Tensor& x, Shape shape) {
  const auto unknown = std::find(shape.begin(), shape.end(), -1);
  if (unknown != shape.end()) {
    const Shape asked = shape;
    const int axis = static_cast<int>(unknown - shape.begin());
    shape[axis] = 1;
    require(std::find(shape.begin(), shape.end(), -1) == shape.end(), op,
            "shape {} has more than one -1", asked);
    const int64_t known = checked_numel(op, shape);
    require(known != 0 && x.numel() % known == 0, op, "{} elements of shape {} do not fill {}",
            x.numel(), x.shape(), asked);
    shape[axis] = x.numel() / known;
  }
  const int64_t count = checked_numel(op, shape);
  require(count == x.numel(), op, "cannot turn {} ({} elements) into {} ({} elements)", x.shape(),
          x.numel(), shape, count);
  return shape;
}

// Strides that show x's elements in `shape` without a copy, if there are any. Walks both shapes
// from the right and pairs up groups of axes with equal products.
std::optional<Strides> strides_of_reshape(const Tensor& x, const Shape& shape) {
  if (x.is_contiguous()) return row_major_strides(shape);
  Shape old_shape;
  Strides old_strides;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (x.shape()[axis] == 1) continue;
    old_shape.push_back(x.shape()[axis]);
    old_strides.push_back(x.strides()[axis]);
  }
  Strides strides = shape;
  int old_axis = old_shape.rank() - 1;
  int64_t step = 1, room = 1;  // of the current group of old axes: stride, elements left
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    if (shape[axis] == 1) {
      strides[axis] = 1;
      continue;
    }
    if (room == 1) {
      step = old_strides[old_axis];
      room = old_shape[old_axis--];
      while (old_axis >= 0 && old_strides[old_axis] == step * room) room *= old_shape[old_axis--];
    }
    if (room % shape[axis] != 0) return std::nullopt;
    strides[axis] = step;
    step *= shape[axis];
    room /= shape[axis];
  }
  return strides;
}

Tensor reshape_view(std::string_view op, const Tensor& x, const Shape& shape,
                    const Strides& strides) {
  const Shape original = x.shape();
  return record(op, make_view(x, x.get().offset, shape, strides), {x},
                [original](const Tensor& grad) { return std::vector{reshape(grad, original)}; });
}

}  // namespace

Tensor reshape(const Tensor& x, const Shape& shape) {
  const Shape target = resolve("reshape", x, shape);
  if (target == x.shape()) return x;
  if (const auto strides = strides_of_reshape(x, target)) {
    return reshape_view("reshape", x, target, *strides);
  }
  return reshape(clone(x), target);
}

Tensor view(const Tensor& x, const Shape& shape) {
  const Shape target = resolve("view", x, shape);
  const auto strides = strides_of_reshape(x, target);
  require(strides.has_value(), "view",
          "{} with strides {} cannot be seen as {} without a copy; use reshape", x.shape(),
          x.strides(), target);
  return reshape_view("view", x, target, *strides);
}

Tensor transpose(const Tensor& x, int64_t axis_a, int64_t axis_b) {
  std::vector<int64_t> axes(static_cast<size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[static_cast<size_t>(normalize_axis("transpose", axis_a, x.rank()))],
            axes[static_cast<size_t>(normalize_axis("transpose", axis_b, x.rank()))]);
  return permute(x, axes);
}

Tensor permute(const Tensor& x, const std::vector<int64_t>& axes) {
  const int rank = x.rank();
  require(static_cast<int>(axes.size()) == rank, "permute", "{} axes given for shape {}",
          axes.size(), x.shape());
  Shape shape;
  Strides strides;
  std::vector<int64_t> inverse(axes.size(), -1);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = normalize_axis("permute", axes[i], rank);
    require(inverse[static_cast<size_t>(axis)] < 0, "permute", "axis {} appears twice", axis);
    inverse[static_cast<size_t>(axis)] = static_cast<int64_t>(i);
    shape.push_back(x.shape()[axis]);
    strides.push_back(x.strides()[axis]);
  }
  return record("permute", make_view(x, x.get().offset, shape, strides), {x},
                [inverse](const Tensor& grad) { return std::vector{permute(grad, inverse)}; });
}

Tensor expand(const Tensor& x, const Shape& shape) {
  if (shape == x.shape()) return x;
  require(shape.rank() >= x.rank(), "expand", "cannot drop axes of {} to get {}", x.shape(), shape);
  const int added = shape.rank() - x.rank();
  Shape out_shape = shape;
  Strides strides = shape;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int64_t size = axis < added ? 1 : x.shape()[axis - added];
    if (shape[axis] == -1 && axis >= added) out_shape[axis] = size;
    require(size == 1 || size == out_shape[axis], "expand",
            "{} does not expand to {}; only sizes of 1 can grow", x.shape(), shape);
    strides[axis] = size == out_shape[axis] && axis >= added ? x.strides()[axis - added] : 0;
  }
  checked_numel("expand", out_shape);
  const Shape original = x.shape();
  return record("expand", make_view(x, x.get().offset, out_shape, strides), {x},
                [original](const Tensor& grad) { return std::vector{sum_to(grad, original)}; });
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (shape == x.shape()) return x;
  require(broadcast_shapes("sum_to", x.shape(), shape) == x.shape(), "sum_to",
          "{} is not a broadcast of {}", x.shape(), shape);
  std::vector<int64_t> axes;
  const int added = x.rank() - shape.rank();
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis < added || shape[axis - added] != x.shape()[axis]) axes.push_back(axis);
  }
  return reshape(axes.empty() ? x : sum(x, axes, true), shape);
}

Tensor squeeze(const Tensor& x, int64_t axis) {
  const int at = normalize_axis("squeeze", axis, x.rank());
  require(x.shape()[at] == 1, "squeeze", "axis {} of {} has size {}, not 1", at, x.shape(),
          x.shape()[at]);
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.erase(at);
  strides.erase(at);
  return reshape_view("squeeze", x, shape, strides);
}

Tensor unsqueeze(const Tensor& x, int64_t axis) {
  const int at = normalize_axis("unsqueeze", axis, x.rank() + 1);
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.insert(at, 1);
  strides.insert(at, 1);
  return reshape_view("unsqueeze", x, shape, strides);
}

Tensor slice(const Tensor& x, int64_t axis, int64_t start, int64_t stop, int64_t step) {
  const int at = normalize_axis("slice", axis, x.rank());
  const int64_t size = x.shape()[at];
  require(step >= 1, "slice", "step is {}, must be at least 1", step);
  const auto from_front = [size](int64_t i) {
    return std::clamp<int64_t>(i < 0 ? i + size : i, 0, size);
  };
  const int64_t first = from_front(start), last = std::max(first, from_front(stop));
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape[at] = first == last ? 0 : (last - first - 1) / step + 1;
  const int64_t offset = x.get().offset + first * strides[at];
  if (shape[at] > 1) strides[at] *= step;
  const Shape original = x.shape();
  return record("slice", make_view(x, offset, shape, strides), {x}, [=](const Tensor& grad) {
    Tensor dx = Tensor::zeros(original, grad.dtype(), grad.device());
    slice(dx, at, first, last, step).copy_(grad);
    return std::vector{dx};
  });
}

Tensor select(const Tensor& x, int64_t axis, int64_t index) {
  const int at = normalize_axis("select", axis, x.rank());
  const int64_t size = x.shape()[at];
  require(index >= -size && index < size, "select", "index {} is out of range for axis {} of {}",
          index, at, x.shape());
  const int64_t i = index < 0 ? index + size : index;
  return squeeze(slice(x, at, i, i + 1), at);
}

Tensor cat(const std::vector<Tensor>& parts, int64_t axis) {
  require(!parts.empty(), "cat", "needs at least one tensor");
  const Tensor& first = parts.front();
  const int at = normalize_axis("cat", axis, first.rank());
  Shape shape = first.shape();
  shape[at] = 0;
  for (const Tensor& part : parts) {
    require_same_dtype("cat", first, part);
    require_same_device("cat", first, part);
    Shape expected = first.shape();
    if (part.rank() == first.rank()) expected[at] = part.shape()[at];
    require(part.shape() == expected, "cat", "shapes {} and {} differ outside axis {}",
            first.shape(), part.shape(), at);
    shape[at] += part.shape()[at];
  }
  Tensor out = Tensor::empty(shape, first.dtype(), first.device());
  std::vector<int64_t> ends;
  int64_t end = 0;
  for (const Tensor& part : parts) {
    const int64_t start = end;
    end += part.shape()[at];
    ends.push_back(end);
    out.backend().copy(part.view(), slice(out, at, start, end).view());
  }
  return record("cat", out, std::span<const Tensor>(parts), [ends, at](const Tensor& grad) {
    std::vector<Tensor> grads;
    int64_t start = 0;
    for (int64_t stop : ends) {
      grads.push_back(slice(grad, at, start, stop));
      start = stop;
    }
    return grads;
  });
}

Tensor stack(const std::vector<Tensor>& parts, int64_t axis) {
  require(!parts.empty(), "stack", "needs at least one tensor");
  std::vector<Tensor> rows;
  for (const Tensor& part : parts) {
    require(part.shape() == parts.front().shape(), "stack", "shapes {} and {} differ",
            parts.front().shape(), part.shape());
    require_same_dtype("stack", parts.front(), part);
    require_same_device("stack", parts.front(), part);
    rows.push_back(unsqueeze(part, axis));
  }
  return cat(rows, axis);
}

std::vector<Tensor> split(const Tensor& x, int64_t size, int64_t axis) {
  const int at = normalize_axis("split", axis, x.rank());
  require(size >= 1, "split", "size is {}, must be at least 1", size);
  std::vector<Tensor> parts;
  for (int64_t start = 0; start < x.shape()[at]; start += size) {
    parts.push_back(slice(x, at, start, std::min(start + size, x.shape()[at])));
  }
  return parts;
}

Tensor split_heads(const Tensor& x, int64_t heads) {
  require(x.rank() == 3, "split_heads", "needs [B, T, C], got {}", x.shape());
  require(heads >= 1 && x.size(-1) % heads == 0, "split_heads",
          "width {} of {} does not divide into {} heads", x.size(-1), x.shape(), heads);
  return transpose(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), 1, 2);
}

Tensor merge_heads(const Tensor& x) {
  require(x.rank() == 4, "merge_heads", "needs [B, H, T, D], got {}", x.shape());
  return reshape(transpose(x, 1, 2), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

Tensor tril(const Tensor& x, int64_t diagonal) {
  require(x.rank() >= 2, "tril", "needs at least two axes, got {}", x.shape());
  const Tensor row = unsqueeze(Tensor::arange(x.size(-2), DType::i32, x.device()), 1);
  const Tensor column = Tensor::arange(x.size(-1), DType::i32, x.device());
  const Tensor limit = row + Tensor::scalar(static_cast<double>(diagonal), DType::i32, x.device());
  return masked_fill(x, gt(column, limit), 0);
}

Tensor clone(const Tensor& x) {
  Tensor out = Tensor::empty_like(x);
  x.backend().copy(x.view(), out.view());
  return record("clone", out, {x}, [](const Tensor& grad) { return std::vector{grad}; });
}

Tensor contiguous(const Tensor& x) {
  return x.is_contiguous() ? x : clone(x);
}

Tensor detach(const Tensor& x) {
  return make_view(x, x.get().offset, x.shape(), x.strides());
}

Tensor to(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor out = Tensor::empty(x.shape(), dtype, x.device());
  x.backend().copy(x.view(), out.view());
  if (!is_floating(dtype)) return out;
  const DType original = x.dtype();
  return record("to_dtype", out, {x},
                [original](const Tensor& grad) { return std::vector{to(grad, original)}; });
}

Tensor to(const Tensor& x, Device device) {
  if (x.device() == device) return x;
  const Tensor dense = contiguous(x);
  Tensor out = Tensor::empty(x.shape(), x.dtype(), device);
  const size_t bytes = static_cast<size_t>(x.numel()) * size_of(x.dtype());
  if (device == kCpu) {
    x.backend().copy_to_host(dense.view().data, out.view().data, bytes);
  } else {
    out.backend().copy_from_host(dense.view().data, out.view().data, bytes);
    if (const auto range = x.storage().known_range()) out.storage().remember_range(*range);
  }
  const Device original = x.device();
  return record("to_device", out, {x},
                [original](const Tensor& grad) { return std::vector{to(grad, original)}; });
}

}  // namespace tapir
