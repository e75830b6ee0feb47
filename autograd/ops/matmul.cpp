// Matrix products. dA = dC B^T and dB = A^T dC, with transposed views that cost nothing.
#include <algorithm>

#include "autograd/ops.h"
#include "autograd/reference.h"

namespace tapir {
namespace {

Tensor as_operand(const Tensor& x) {
  return is_matmul_operand(x.view()) ? x : contiguous(x);
}

void require_operands(const Tensor& a, const Tensor& b) {
  constexpr std::string_view op = "matmul";
  require_same_dtype(op, a, b);
  require_same_device(op, a, b);
  require_floating(op, a);
  require(a.rank() >= 1 && b.rank() >= 1, op, "needs vectors or matrices, a is {}, b is {}",
          a.shape(), b.shape());
  require(a.size(-1) == b.size(b.rank() == 1 ? 0 : -2), op,
          "inner dimensions differ, a is {}, b is {}", a.shape(), b.shape());
}

// Equal ranks >= 2 and equal leading axes.
Tensor batched(const Tensor& left, const Tensor& right) {
  const Tensor a = as_operand(left), b = as_operand(right);
  Shape shape = a.shape();
  shape[a.rank() - 1] = b.size(-1);
  Tensor out = Tensor::empty(shape, a.dtype(), a.device());
  a.backend().matmul(a.view(), b.view(), out.view());
  return record("matmul", out,
                {{a, [b](const Tensor& grad) { return batched(grad, transpose(b)); }},
                 {b, [a](const Tensor& grad) { return batched(transpose(a), grad); }}});
}

// The leading axes of the product, from those of the operands.
Shape leading(const Shape& shape) {
  Shape result = shape;
  result.erase(result.rank() - 1);
  result.erase(result.rank() - 1);
  return result;
}

Shape with_matrix(Shape lead, int64_t rows, int64_t columns) {
  lead.push_back(rows);
  lead.push_back(columns);
  return lead;
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  require_operands(a, b);
  if (a.rank() == 1) return squeeze(matmul(unsqueeze(a, 0), b), b.rank() == 1 ? 0 : -2);
  if (b.rank() == 1) return squeeze(matmul(a, unsqueeze(b, 1)), -1);
  if (b.rank() == 2 && a.rank() > 2) {  // one matrix for all: a single tall product
    const Tensor rows = reshape(a, {numel(leading(a.shape())) * a.size(-2), a.size(-1)});
    return reshape(batched(rows, b), with_matrix(leading(a.shape()), a.size(-2), b.size(-1)));
  }
  const Shape lead = broadcast_shapes("matmul", leading(a.shape()), leading(b.shape()));
  return batched(expand(a, with_matrix(lead, a.size(-2), a.size(-1))),
                 expand(b, with_matrix(lead, b.size(-2), b.size(-1))));
}

Tensor outer(const Tensor& a, const Tensor& b) {
  require(a.rank() == 1 && b.rank() == 1, "outer", "needs two vectors, got {} and {}", a.shape(),
          b.shape());
  return unsqueeze(a, 1) * unsqueeze(b, 0);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias) {
  require(weight.rank() == 2, "linear", "weight must be [out, in], got {}", weight.shape());
  require(x.rank() >= 1 && x.size(-1) == weight.size(1), "linear",
          "x is {} but weight is {} [out, in]; the last dimension of x must be in", x.shape(),
          weight.shape());
  require_same_dtype("linear", x, weight);
  require_same_device("linear", x, weight);
  require_floating("linear", x);
  if (reference::Composed::enabled()) return reference::linear(x, weight, bias);
  const int64_t inputs = weight.size(1), outputs = weight.size(0);
  Shape out_shape = x.shape();
  out_shape[x.rank() - 1] = outputs;
  const int64_t row_count =
      inputs == 0 ? numel(out_shape) / std::max<int64_t>(outputs, 1) : x.numel() / inputs;
  const Tensor rows = as_operand(reshape(x, {row_count, inputs}));
  const Tensor w = as_operand(weight);
  Tensor out = Tensor::empty({row_count, outputs}, x.dtype(), x.device());
  x.backend().matmul(rows.view(), transpose(detach(w)).view(), out.view());
  out = record("linear", out,
               {{rows, [w](const Tensor& grad) { return batched(grad, w); }},
                {w, [rows](const Tensor& grad) { return batched(transpose(grad), rows); }}});
  if (bias.defined()) {
    require(bias.shape() == Shape{outputs}, "linear", "bias is {} but weight is {} [out, in]",
            bias.shape(), weight.shape());
    require_same_dtype("linear", x, bias);
    out = out + bias;
  }
  return reshape(out, out_shape);
}

}  // namespace tapir
