// Elementwise arithmetic. Broadcasting is a separate operation (expand), whose gradient sums over
// the repeated axes; so every gradient here has its input's shape without further thought.
#include "autograd/ops.h"
#include "autograd/reference.h"

namespace tapir {
namespace {

struct Operands {
  Tensor a, b;
};

// Both operands in their common shape, as views.
Operands broadcast(std::string_view op, const Tensor& a, const Tensor& b) {
  require_same_dtype(op, a, b);
  require_same_device(op, a, b);
  if (a.shape() == b.shape()) return {a, b};
  const Shape shape = broadcast_shapes(op, a.shape(), b.shape());
  return {expand(a, shape), expand(b, shape)};
}

// The same for arithmetic, which bool tensors have none of.
Operands broadcast_numbers(std::string_view op, const Tensor& a, const Tensor& b) {
  require(a.dtype() != DType::boolean, op, "bool tensors have no arithmetic; convert with to()");
  return broadcast(op, a, b);
}

Tensor compute(BinaryOp op, const Tensor& a, const Tensor& b) {
  Tensor out = Tensor::empty_like(a);
  a.backend().binary(op, a.view(), b.view(), out.view());
  return out;
}

Tensor compute(CompareOp op, std::string_view name, const Tensor& a, const Tensor& b) {
  const Operands x = broadcast(name, a, b);
  Tensor out = Tensor::empty(x.a.shape(), DType::boolean, a.device());
  a.backend().compare(op, x.a.view(), x.b.view(), out.view());
  return out;
}

Tensor unary(UnaryOp op, std::string_view name, const Tensor& x, double p = 0) {
  require_floating(name, x);
  Tensor out = Tensor::empty_like(x);
  x.backend().unary(op, x.view(), p, out.view());
  const Saves what = saves(op);
  // The output is saved through a second handle: the one that is returned carries the node.
  const Tensor saved = what == Saves::input ? x : what == Saves::output ? detach(out) : Tensor();
  return record(name, out, {x}, [op, saved, p](const Tensor& grad) {
    Tensor dx = Tensor::empty_like(grad);
    grad.backend().unary_backward(op, grad.view(), saved.defined() ? saved.view() : View(), p,
                                  dx.view());
    return std::vector{dx};
  });
}

// The gradient of maximum and minimum goes to the operand that was chosen; equal ones share it.
Tensor share_of(const Tensor& grad, const Tensor& chosen, const Tensor& other, CompareOp wins,
                std::string_view name) {
  const Tensor full = to(compute(wins, name, chosen, other), grad.dtype());
  const Tensor tie = to(compute(CompareOp::eq, name, chosen, other), grad.dtype());
  return grad * (full + tie * 0.5);
}

Tensor extremum(BinaryOp op, CompareOp wins, std::string_view name, const Tensor& a,
                const Tensor& b) {
  const Operands in = broadcast(name, a, b);
  const Tensor x = in.a, y = in.b;
  require_floating(name, x);
  return record(name, compute(op, x, y),
                {{x, [=](const Tensor& grad) { return share_of(grad, x, y, wins, name); }},
                 {y, [=](const Tensor& grad) { return share_of(grad, y, x, wins, name); }}});
}

}  // namespace

Tensor add(const Tensor& a, const Tensor& b) {
  const Operands in = broadcast_numbers("add", a, b);
  return record("add", compute(BinaryOp::add, in.a, in.b), {in.a, in.b}, [](const Tensor& grad) {
    return std::vector{grad, grad};
  });
}

Tensor sub(const Tensor& a, const Tensor& b) {
  const Operands in = broadcast_numbers("sub", a, b);
  return record("sub", compute(BinaryOp::sub, in.a, in.b),
                {{in.a, [](const Tensor& grad) { return grad; }},
                 {in.b, [](const Tensor& grad) { return -grad; }}});
}

Tensor mul(const Tensor& a, const Tensor& b) {
  const Operands in = broadcast_numbers("mul", a, b);
  const Tensor x = in.a, y = in.b;
  return record("mul", compute(BinaryOp::mul, x, y),
                {{x, [y](const Tensor& grad) { return grad * y; }},
                 {y, [x](const Tensor& grad) { return grad * x; }}});
}

Tensor div(const Tensor& a, const Tensor& b) {
  const Operands in = broadcast_numbers("div", a, b);
  const Tensor x = in.a, y = in.b;
  const Tensor out = compute(BinaryOp::div, x, y), value = detach(out);
  // -g x / y^2 without the square, which would overflow first.
  return record("div", out,
                {{x, [y](const Tensor& grad) { return grad / y; }},
                 {y, [y, value](const Tensor& grad) { return -(grad / y * value); }}});
}

Tensor pow(const Tensor& base, const Tensor& exponent) {
  const Operands in = broadcast("pow", base, exponent);
  const Tensor x = in.a, y = in.b;
  require_floating("pow", x);
  const Tensor out = compute(BinaryOp::pow, x, y);
  const Tensor value = detach(out);
  return record("pow", out,
                {{x,
                  [x, y](const Tensor& grad) {
                    // y = 0 gives 0 even where x^(y-1) is infinite.
                    const Tensor slope = y * pow(x, y - 1.0);
                    return grad * masked_fill(slope, eq(y, Tensor::zeros_like(y)), 0);
                  }},
                 {y, [x, value](const Tensor& grad) {
                    // 0^y is flat, although log 0 is not finite.
                    const Tensor slope = value * log(x);
                    return grad * masked_fill(slope, eq(x, Tensor::zeros_like(x)), 0);
                  }}});
}

Tensor maximum(const Tensor& a, const Tensor& b) {
  return extremum(BinaryOp::maximum, CompareOp::gt, "maximum", a, b);
}
Tensor minimum(const Tensor& a, const Tensor& b) {
  return extremum(BinaryOp::minimum, CompareOp::lt, "minimum", a, b);
}

Tensor add(const Tensor& a, double b) {
  return unary(UnaryOp::add_scalar, "add_scalar", a, b);
}
Tensor mul(const Tensor& a, double b) {
  return unary(UnaryOp::mul_scalar, "mul_scalar", a, b);
}
Tensor pow(const Tensor& base, double exponent) {
  return unary(UnaryOp::pow_scalar, "pow_scalar", base, exponent);
}
Tensor clamp_min(const Tensor& x, double low) {
  return unary(UnaryOp::clamp_min, "clamp_min", x, low);
}
Tensor operator-(double a, const Tensor& b) {
  return add(neg(b), a);
}
Tensor operator/(double a, const Tensor& b) {
  return mul(reciprocal(b), a);
}
Tensor operator-(const Tensor& x) {
  return neg(x);
}

Tensor neg(const Tensor& x) {
  return unary(UnaryOp::neg, "neg", x);
}
Tensor abs(const Tensor& x) {
  return unary(UnaryOp::abs, "abs", x);
}
Tensor exp(const Tensor& x) {
  return unary(UnaryOp::exp, "exp", x);
}
Tensor log(const Tensor& x) {
  return unary(UnaryOp::log, "log", x);
}
Tensor sqrt(const Tensor& x) {
  return unary(UnaryOp::sqrt, "sqrt", x);
}
Tensor rsqrt(const Tensor& x) {
  return unary(UnaryOp::rsqrt, "rsqrt", x);
}
Tensor square(const Tensor& x) {
  return unary(UnaryOp::square, "square", x);
}
Tensor reciprocal(const Tensor& x) {
  return unary(UnaryOp::reciprocal, "reciprocal", x);
}
Tensor sin(const Tensor& x) {
  return unary(UnaryOp::sin, "sin", x);
}
Tensor cos(const Tensor& x) {
  return unary(UnaryOp::cos, "cos", x);
}
Tensor tanh(const Tensor& x) {
  return unary(UnaryOp::tanh, "tanh", x);
}
Tensor erf(const Tensor& x) {
  return unary(UnaryOp::erf, "erf", x);
}
Tensor sigmoid(const Tensor& x) {
  return unary(UnaryOp::sigmoid, "sigmoid", x);
}
Tensor relu(const Tensor& x) {
  return unary(UnaryOp::relu, "relu", x);
}
Tensor silu(const Tensor& x) {
  return unary(UnaryOp::silu, "silu", x);
}
Tensor gelu(const Tensor& x) {
  return unary(UnaryOp::gelu, "gelu", x);
}
Tensor gelu_tanh(const Tensor& x) {
  return unary(UnaryOp::gelu_tanh, "gelu_tanh", x);
}

Tensor eq(const Tensor& a, const Tensor& b) {
  return compute(CompareOp::eq, "eq", a, b);
}
Tensor ne(const Tensor& a, const Tensor& b) {
  return compute(CompareOp::ne, "ne", a, b);
}
Tensor lt(const Tensor& a, const Tensor& b) {
  return compute(CompareOp::lt, "lt", a, b);
}
Tensor le(const Tensor& a, const Tensor& b) {
  return compute(CompareOp::le, "le", a, b);
}
Tensor gt(const Tensor& a, const Tensor& b) {
  return compute(CompareOp::gt, "gt", a, b);
}
Tensor ge(const Tensor& a, const Tensor& b) {
  return compute(CompareOp::ge, "ge", a, b);
}

Tensor logical_not(const Tensor& x) {
  require(x.dtype() == DType::boolean, "logical_not", "needs a bool tensor, got {}", x.dtype());
  return eq(x, Tensor::zeros_like(x));
}

Tensor where(const Tensor& condition, const Tensor& a, const Tensor& b) {
  require(condition.dtype() == DType::boolean, "where", "the condition must be bool, got {}",
          condition.dtype());
  require_same_device("where", condition, a);
  const Operands in = broadcast("where", a, b);
  const Shape shape = broadcast_shapes("where", condition.shape(), in.a.shape());
  const Tensor chosen = expand(condition, shape), x = expand(in.a, shape), y = expand(in.b, shape);
  Tensor out = Tensor::empty(shape, a.dtype(), a.device());
  a.backend().where(chosen.view(), x.view(), y.view(), out.view());
  const auto pick = [chosen](const Tensor& grad, bool first) {
    const Tensor zero = expand(Tensor::zeros({}, grad.dtype(), grad.device()), grad.shape());
    return first ? where(chosen, grad, zero) : where(chosen, zero, grad);
  };
  return record("where", out,
                {{x, [pick](const Tensor& grad) { return pick(grad, true); }},
                 {y, [pick](const Tensor& grad) { return pick(grad, false); }}});
}

Tensor masked_fill(const Tensor& x, const Tensor& mask, double value) {
  require(mask.dtype() == DType::boolean, "masked_fill", "the mask must be bool, got {}",
          mask.dtype());
  require(broadcast_shapes("masked_fill", x.shape(), mask.shape()) == x.shape(), "masked_fill",
          "mask {} does not broadcast to {}", mask.shape(), x.shape());
  return where(mask, Tensor::scalar(value, x.dtype(), x.device()), x);
}

Tensor swiglu(const Tensor& gate, const Tensor& up) {
  require(gate.shape() == up.shape(), "swiglu", "gate is {} but up is {}", gate.shape(),
          up.shape());
  require_same_dtype("swiglu", gate, up);
  require_same_device("swiglu", gate, up);
  require_floating("swiglu", gate);
  if (reference::Composed::enabled()) return reference::swiglu(gate, up);
  Tensor out = Tensor::empty_like(gate);
  gate.backend().swiglu(gate.view(), up.view(), out.view());
  return record("swiglu", out, {gate, up}, [gate, up](const Tensor& grad) {
    Tensor dgate = Tensor::empty_like(gate), dup = Tensor::empty_like(up);
    grad.backend().swiglu_backward(grad.view(), gate.view(), up.view(), dgate.view(), dup.view());
    return std::vector{dgate, dup};
  });
}

}  // namespace tapir
