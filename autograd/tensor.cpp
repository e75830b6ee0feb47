#include "autograd/tensor.h"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <fmt/ranges.h>

#include "autograd/ops.h"
#include "autograd/tape.h"
#include "autograd/tape_observer.h"

namespace tapir {
namespace {

// The bytes of a dense tensor of host values, on `device`.
template <typename T>
Tensor upload(const T* values, const Shape& shape, Device device) {
  Tensor out = Tensor::empty(shape, dtype_of<T>, device);
  out.backend().copy_from_host(values, out.view().data,
                               static_cast<size_t>(out.numel()) * sizeof(T));
  return out;
}

// x's values in row-major order on the host, converted to T.
template <typename T>
std::vector<T> download(const Tensor& x) {
  Tensor dense = Tensor::empty(x.shape(), dtype_of<T>, x.device());
  x.backend().copy(x.view(), dense.view());
  std::vector<T> values(static_cast<size_t>(x.numel()));
  x.backend().copy_to_host(dense.view().data, values.data(), values.size() * sizeof(T));
  return values;
}

Tensor announced(std::shared_ptr<TensorImpl> impl) {
  if (TapeObserver* observer = TapeObserver::current()) observer->tensor_made(impl);
  return Tensor(std::move(impl));
}

void require_count(size_t given, const Shape& shape) {
  require(static_cast<int64_t>(given) == checked_numel("from", shape), "from",
          "{} values do not fill shape {}", given, shape);
}

// Whether the view shows some element at several places, as expand() makes it.
bool repeats_elements(const Tensor& x) {
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (x.strides()[axis] == 0 && x.shape()[axis] > 1) return x.numel() > 0;
  }
  return false;
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  const int64_t count = checked_numel("empty", shape);
  auto impl = std::make_shared<TensorImpl>();
  impl->storage = std::make_shared<Storage>(tapir::backend(device).allocator(), device,
                                            static_cast<size_t>(count) * size_of(dtype));
  impl->shape = shape;
  impl->strides = row_major_strides(shape);
  impl->dtype = dtype;
  return announced(std::move(impl));
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype, Device device) {
  Tensor out = empty(shape, dtype, device);
  out.backend().fill(value, out.view());
  return out;
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) {
  return full(shape, 0, dtype, device);
}
Tensor Tensor::ones(const Shape& shape, DType dtype, Device device) {
  return full(shape, 1, dtype, device);
}
Tensor Tensor::scalar(double value, DType dtype, Device device) {
  return full({}, value, dtype, device);
}

Tensor Tensor::arange(int64_t count, DType dtype, Device device) {
  require(count >= 0 && count <= INT32_MAX, "arange", "count is {}, must be 0 to {}", count,
          INT32_MAX);
  std::vector<int32_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return to(from(std::span<const int32_t>(values), {count}, device), dtype);
}

Tensor Tensor::from(std::span<const double> values, const Shape& shape, DType dtype,
                    Device device) {
  require_count(values.size(), shape);
  Tensor out = upload(values.data(), shape, device);
  return dtype == DType::f64 ? out : to(out, dtype);
}

Tensor Tensor::from(std::span<const float> values, const Shape& shape, Device device) {
  require_count(values.size(), shape);
  return upload(values.data(), shape, device);
}

Tensor Tensor::from(std::span<const int32_t> values, const Shape& shape, Device device) {
  require_count(values.size(), shape);
  Tensor out = upload(values.data(), shape, device);
  if (!values.empty()) {
    const auto [lowest, highest] = std::minmax_element(values.begin(), values.end());
    out.storage().remember_range({*lowest, *highest});
  }
  return out;
}

Tensor Tensor::from(std::initializer_list<double> values, const Shape& shape, DType dtype,
                    Device device) {
  return from(std::span<const double>(values.begin(), values.size()), shape, dtype, device);
}

View Tensor::view() const {
  const TensorImpl& impl = get();
  auto* bytes = static_cast<std::byte*>(impl.storage->data());
  // An empty tensor may have no memory at all, and then there is nothing to add an offset to.
  if (numel() > 0) bytes += static_cast<size_t>(impl.offset) * size_of(impl.dtype);
  return {bytes, impl.dtype, impl.shape, impl.strides};
}

double Tensor::item() const {
  require(numel() == 1, "item", "needs exactly one element, got shape {}", shape());
  return download<double>(*this)[0];
}

std::vector<double> Tensor::to_vector() const {
  return download<double>(*this);
}

std::vector<int32_t> Tensor::to_ints() const {
  require(dtype() == DType::i32, "to_ints", "the tensor is {}, not i32", dtype());
  return download<int32_t>(*this);
}

std::string Tensor::to_string() const {
  if (!defined()) return "tensor(undefined)";
  constexpr size_t kShown = 16;
  const std::vector<double> values = to_vector();
  const size_t head = std::min(values.size(), kShown);
  return fmt::format("tensor({} {}: {:.6g}{})", dtype(), shape(),
                     fmt::join(values.begin(), values.begin() + static_cast<ptrdiff_t>(head), ", "),
                     values.size() > kShown ? ", ..." : "");
}

Tensor& Tensor::copy_(const Tensor& source) {
  require(!(Tape::recording() && (requires_grad() || source.requires_grad())), "copy_",
          "in-place writes have no gradient, but {} requires grad and a tape records; wrap the "
          "write in NoGrad",
          requires_grad() ? "the tensor" : "the source");
  require(broadcast_shapes("copy_", shape(), source.shape()) == shape(), "copy_",
          "source {} does not broadcast to {}", source.shape(), shape());
  require(!repeats_elements(*this), "copy_",
          "{} with strides {} shows elements more than once, so it cannot be written; clone() it",
          shape(), strides());
  NoGrad pause;
  Tensor local = source.device() == device() ? source : to(source, device());
  // Values that the copy itself would overwrite are read first.
  if (local.get().storage == get().storage) local = clone(local);
  backend().copy(expand(local, shape()).view(), view());
  storage().bump_version();
  return *this;
}

Tensor& Tensor::fill_(double value) {
  require(!(Tape::recording() && requires_grad()), "fill_",
          "in-place writes have no gradient, but the tensor requires grad and a tape records; wrap "
          "the write in NoGrad");
  backend().fill(value, view());
  storage().bump_version();
  return *this;
}

Tensor& Tensor::set_requires_grad(bool value) {
  if (value) {
    require(is_floating(dtype()), "set_requires_grad",
            "only floating tensors have gradients, this one is {}", dtype());
  }
  require(is_leaf(), "set_requires_grad",
          "the tensor is the result of a recorded operation; "
          "call detach() first");
  get().requires_grad = value;
  return *this;
}

Tensor make_view(const Tensor& x, int64_t offset, const Shape& shape, const Strides& strides) {
  auto impl = std::make_shared<TensorImpl>();
  impl->storage = x.get().storage;
  impl->offset = offset;
  impl->shape = shape;
  impl->strides = strides;
  impl->dtype = x.dtype();
  return announced(std::move(impl));
}

int64_t checked_numel(std::string_view op, const Shape& shape) {
  // 2^55 elements of 8 bytes are far beyond any memory and still safe to multiply. Strides are
  // products of the sizes behind a zero too.
  constexpr int64_t kMost = int64_t{1} << 55;
  int64_t product = 1;
  bool empty = false;
  for (int64_t size : shape) {
    require(size >= 0, op, "shape {} has a negative size", shape);
    require(size == 0 || product <= kMost / size, op, "shape {} is too large", shape);
    if (size > 0) product *= size;
    empty = empty || size == 0;
  }
  return empty ? 0 : product;
}

void require_same_dtype(std::string_view op, const Tensor& a, const Tensor& b) {
  require(a.dtype() == b.dtype(), op, "dtypes differ, {} ({}) and {} ({}); convert one with to()",
          a.dtype(), a.shape(), b.dtype(), b.shape());
}

void require_same_device(std::string_view op, const Tensor& a, const Tensor& b) {
  require(a.device() == b.device(), op,
          "operands are on different devices, {} ({}) and {} ({}); move one with to()", a.device(),
          a.shape(), b.device(), b.shape());
}

int64_t find_out_of_range(const Tensor& index, int64_t bound) {
  if (index.numel() == 0) return -1;
  const std::optional<IntRange> range = index.storage().known_range();
  if (range && range->lowest >= 0 && range->highest < bound) return -1;
  const Tensor dense = contiguous(index);
  return index.backend().find_out_of_range(dense.view(), bound);
}

void require_floating(std::string_view op, const Tensor& x) {
  require(is_floating(x.dtype()), op, "needs a floating dtype, got {} {}; convert with to()",
          x.dtype(), x.shape());
}

}  // namespace tapir
