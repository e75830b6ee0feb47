// Reading and writing by position. Gradients add up repeated positions in a fixed order.
#include "autograd/ops.h"
#include "autograd/reference.h"

namespace tapir {
namespace {

void require_index(std::string_view op, const Tensor& index) {
  require(index.dtype() == DType::i32, op, "the index must be i32, got {}", index.dtype());
}

void require_in_range(std::string_view op, std::string_view what, const Tensor& index,
                      int64_t bound, std::string_view bound_name) {
  const int64_t bad = find_out_of_range(index, bound);
  if (bad < 0) return;
  const int32_t value = index.to_ints()[static_cast<size_t>(bad)];
  fail(op, "{} {} at position {} is outside [0, {}); {} is {}", what, value,
       coordinates(index.shape(), bad), bound, bound_name, bound);
}

// The axis counted from the front, once x and index are known to fit.
int checked_axis(std::string_view op, const Tensor& x, int64_t axis, const Tensor& index) {
  require_index(op, index);
  require_same_device(op, x, index);
  const int at = normalize_axis(op, axis, x.rank());
  Shape expected = x.shape();
  if (index.rank() == x.rank()) expected[at] = index.shape()[at];
  require(index.shape() == expected, op, "x is {} and index is {}; they may differ in axis {} only",
          x.shape(), index.shape(), at);
  require_in_range(op, "index", index, x.shape()[at], fmt::format("the size of axis {}", at));
  return at;
}

// Both tensors with `axis` last and dense, for the kernels.
struct Rows {
  Tensor x, index;
  int axis;
};

Rows rows_of(std::string_view op, const Tensor& x, int64_t axis, const Tensor& index) {
  const int at = checked_axis(op, x, axis, index);
  return {contiguous(transpose(x, at, -1)), contiguous(transpose(index, at, -1)), at};
}

void require_source(std::string_view op, const Tensor& x, const Tensor& index,
                    const Tensor& source) {
  require_floating(op, x);
  require_same_dtype(op, x, source);
  require_same_device(op, x, source);
  require(source.shape() == index.shape(), op, "source is {} but index is {}", source.shape(),
          index.shape());
}

}  // namespace

Tensor gather(const Tensor& x, int64_t axis, const Tensor& index) {
  const Rows in = rows_of("gather", x, axis, index);
  Tensor out = Tensor::empty(in.index.shape(), x.dtype(), x.device());
  x.backend().gather(in.x.view(), in.index.view(), out.view());
  const Tensor at = in.index;
  const Shape shape = in.x.shape();
  out = record("gather", out, {in.x}, [at, shape](const Tensor& grad) {
    return std::vector{
        scatter_add(Tensor::zeros(shape, grad.dtype(), grad.device()), -1, at, grad)};
  });
  return transpose(out, in.axis, -1);
}

Tensor scatter_add(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source) {
  require_source("scatter_add", x, index, source);
  const Rows in = rows_of("scatter_add", x, axis, index);
  const Tensor rows = contiguous(transpose(source, in.axis, -1));
  const Tensor at = in.index;
  Tensor out = Tensor::empty_like(in.x);
  x.backend().copy(in.x.view(), out.view());
  x.backend().scatter_add(at.view(), rows.view(), out.view());
  out = record("scatter_add", out,
               {{in.x, [](const Tensor& grad) { return grad; }},
                {rows, [at](const Tensor& grad) { return gather(grad, -1, at); }}});
  return transpose(out, in.axis, -1);
}

Tensor scatter(const Tensor& x, int64_t axis, const Tensor& index, const Tensor& source) {
  require_source("scatter", x, index, source);
  checked_axis("scatter", x, axis, index);
  Tensor written;  // how often each element is written
  {
    NoGrad pause;
    written = scatter_add(Tensor::zeros_like(x), axis, index,
                          Tensor::ones(index.shape(), x.dtype(), x.device()));
    if (x.numel() > 0) {
      require(max(reshape(written, {x.numel()}), 0).item() <= 1, "scatter",
              "an index repeats, so the result would depend on the order; use scatter_add");
    }
  }
  const Tensor hit = gt(written, Tensor::zeros({}, x.dtype(), x.device()));
  return scatter_add(masked_fill(x, hit, 0), axis, index, source);
}

Tensor embedding(const Tensor& weight, const Tensor& ids) {
  require(weight.rank() == 2, "embedding", "weight must be [V, C], got {}", weight.shape());
  require_floating("embedding", weight);
  require_index("embedding", ids);
  require_same_device("embedding", weight, ids);
  require_in_range("embedding", "id", ids, weight.size(0), "the vocabulary");
  if (reference::Composed::enabled()) return reference::embedding(weight, ids);
  const Tensor dense = contiguous(ids), table = contiguous(weight);
  Shape shape = ids.shape();
  shape.push_back(weight.size(1));
  Tensor out = Tensor::empty(shape, weight.dtype(), weight.device());
  const Shape rows{ids.numel(), weight.size(1)};
  weight.backend().embedding(table.view(), reshape(dense, {ids.numel()}).view(),
                             reshape(out, rows).view());
  return record(
      "embedding", out, {table}, [dense, rows, table_shape = table.shape()](const Tensor& grad) {
        Tensor dweight = Tensor::empty(table_shape, grad.dtype(), grad.device());
        grad.backend().embedding_backward(reshape(contiguous(grad), rows).view(),
                                          reshape(dense, {dense.numel()}).view(), dweight.view());
        return std::vector{dweight};
      });
}

// Rows of a table: the same operation as a lookup, once the axis stands in front.
Tensor index_select(const Tensor& x, int64_t axis, const Tensor& index) {
  require(index.rank() == 1, "index_select", "the index must be [n], got {}", index.shape());
  require_index("index_select", index);
  require_floating("index_select", x);
  require_same_device("index_select", x, index);
  const int at = normalize_axis("index_select", axis, x.rank());
  require_in_range("index_select", "index", index, x.shape()[at],
                   fmt::format("the size of axis {}", at));
  const Tensor front = transpose(x, 0, at);
  Shape shape = front.shape();
  const int64_t rows = shape[0], columns = rows == 0 ? 0 : x.numel() / rows;
  shape[0] = index.numel();
  return transpose(reshape(embedding(reshape(front, {rows, columns}), index), shape), 0, at);
}

}  // namespace tapir
