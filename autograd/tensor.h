// The tensor: a handle to a strided view of shared storage, with what the tape needs to know.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.h"
#include "backends/registry.h"

namespace tapir {

class Tensor;
using GradHook = std::function<void(const Tensor& grad)>;

// What a Tensor handle points to. Only autograd/ touches its fields.
struct TensorImpl {
  std::shared_ptr<Storage> storage;
  int64_t offset = 0;  // in elements, from the start of the storage
  Shape shape;
  Strides strides;
  DType dtype = DType::f32;
  bool requires_grad = false;
  bool retain_grad = false;
  std::shared_ptr<TensorImpl> grad;
  std::vector<GradHook> hooks;  // of a leaf; those of recorded tensors live on the tape
  uint64_t tape = 0;            // the tape that recorded this tensor, 0 for a leaf
  int64_t node = -1;            // and its place there
};

// Copying a Tensor copies the handle; clone() copies the data. Views (reshape, transpose, slices)
// share storage. Operands of different dtypes or devices are never converted silently.
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(std::shared_ptr<TensorImpl> impl) : impl_(std::move(impl)) {}

  // Factories. `empty` leaves the values undefined.
  static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = kCpu);
  static Tensor empty_like(const Tensor& x) { return empty(x.shape(), x.dtype(), x.device()); }
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = kCpu);
  static Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype(), x.device()); }
  static Tensor ones(const Shape& shape, DType dtype = DType::f32, Device device = kCpu);
  static Tensor full(const Shape& shape, double value, DType dtype = DType::f32,
                     Device device = kCpu);
  static Tensor scalar(double value, DType dtype = DType::f32, Device device = kCpu);
  // 0, 1, ..., count - 1.
  static Tensor arange(int64_t count, DType dtype = DType::i32, Device device = kCpu);
  // From row-major host values, converted to `dtype`; their number must fit the shape.
  static Tensor from(std::span<const double> values, const Shape& shape, DType dtype = DType::f32,
                     Device device = kCpu);
  static Tensor from(std::span<const float> values, const Shape& shape, Device device = kCpu);
  static Tensor from(std::span<const int32_t> values, const Shape& shape, Device device = kCpu);
  static Tensor from(std::initializer_list<double> values, const Shape& shape,
                     DType dtype = DType::f32, Device device = kCpu);

  bool defined() const { return impl_ != nullptr; }
  const Shape& shape() const { return get().shape; }
  const Strides& strides() const { return get().strides; }
  int rank() const { return shape().rank(); }
  int64_t size(int64_t axis) const { return shape()[normalize_axis("size", axis, rank())]; }
  int64_t numel() const { return tapir::numel(shape()); }
  DType dtype() const { return get().dtype; }
  Device device() const { return get().storage->device(); }
  bool is_contiguous() const { return tapir::is_contiguous(shape(), strides()); }
  const Backend& backend() const { return tapir::backend(device()); }
  Storage& storage() const { return *get().storage; }

  // For kernels. view() of a const handle still allows writing: constness is the handle's.
  View view() const;
  template <typename T>
  T* data() const {
    require(dtype() == dtype_of<T>, "data", "asked for {} but the tensor is {}",
            name_of(dtype_of<T>), dtype());
    return static_cast<T*>(view().data);
  }

  // Host copies. item() needs exactly one element; to_vector() reads in row-major order.
  double item() const;
  std::vector<double> to_vector() const;
  std::vector<int32_t> to_ints() const;
  // Dtype, shape and the first values in row-major order.
  std::string to_string() const;

  // In-place writes, for initialisers, optimizers and buffers. They bump the storage's version and
  // have no gradient, so a tensor or source that requires grad is an Error while a tape records.
  Tensor& copy_(const Tensor& source);  // converts dtype, broadcasts, moves between devices
  Tensor& fill_(double value);

  // Gradients.
  bool requires_grad() const { return get().requires_grad; }
  Tensor& set_requires_grad(bool value = true);  // leaves of a floating dtype only
  Tensor grad() const { return Tensor(get().grad); }
  void set_grad(Tensor grad) const;  // keeps a dense copy, or the buffer of a temporary
  void zero_grad() const { get().grad.reset(); }
  bool is_leaf() const { return get().node < 0; }
  // Keep grad() of a recorded tensor after backward, as leaves always do.
  void retain_grad() const { get().retain_grad = true; }
  // Calls `hook` with the whole gradient of this tensor once per backward pass.
  void register_hook(GradHook hook) const;
  // Runs the recording tape backward from this scalar.
  void backward() const;

  TensorImpl& get() const {
    if (!impl_) fail("tensor", "used before it was given a value; construct it with a factory");
    return *impl_;
  }
  const std::shared_ptr<TensorImpl>& impl() const { return impl_; }
  bool is(const Tensor& other) const { return impl_ == other.impl_; }

 private:
  std::shared_ptr<TensorImpl> impl_;
};

// A new handle on x's storage with another geometry, not recorded: the raw material of view ops.
Tensor make_view(const Tensor& x, int64_t offset, const Shape& shape, const Strides& strides);

// Checks shared by operations; each Error names `op` and both values.
// The number of elements of a shape that a caller made up: negative sizes and products beyond any
// memory, which would overflow, are refused.
int64_t checked_numel(std::string_view op, const Shape& shape);
void require_same_dtype(std::string_view op, const Tensor& a, const Tensor& b);
void require_same_device(std::string_view op, const Tensor& a, const Tensor& b);
void require_floating(std::string_view op, const Tensor& x);

// The position, in row-major order, of the first value of i32 `index` outside of [0, bound), or -1.
// Looks at the values only where the storage's known_range() does not answer.
int64_t find_out_of_range(const Tensor& index, int64_t bound);

}  // namespace tapir
