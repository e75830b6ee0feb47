#include "nn/feed_forward.h"

#include "autograd/ops.h"

namespace tapir::nn {

SwiGLU::SwiGLU(int64_t d_model, int64_t d_ff, Generator& generator, DType dtype, Device device,
               Bias bias)
    : w1(d_model, d_ff, generator, bias, dtype, device),
      w2(d_ff, d_model, generator, bias, dtype, device),
      w3(d_model, d_ff, generator, bias, dtype, device) {}

Tensor SwiGLU::operator()(const Tensor& x) const {
  const Scope scope = enter();
  return w2(swiglu(w1(x), w3(x)));
}

void SwiGLU::visit(Visitor& visitor) {
  visitor.child("w1", w1);
  visitor.child("w2", w2);
  visitor.child("w3", w3);
}

FeedForward::FeedForward(int64_t d_model, int64_t d_ff, FeedForwardKind activation,
                         Generator& generator, DType dtype, Device device, Bias bias)
    : w1(d_model, d_ff, generator, bias, dtype, device),
      w2(d_ff, d_model, generator, bias, dtype, device),
      activation_(activation) {
  require(activation != FeedForwardKind::swiglu, "feed_forward",
          "swiglu is not an activation; use the SwiGLU layer");
}

Tensor FeedForward::operator()(const Tensor& x) const {
  const Scope scope = enter();
  const Tensor inner = w1(x);
  switch (activation_) {
    case FeedForwardKind::relu:
      return w2(relu(inner));
    case FeedForwardKind::gelu:
      return w2(gelu(inner));
    case FeedForwardKind::gelu_tanh:
      return w2(gelu_tanh(inner));
    case FeedForwardKind::silu:
    case FeedForwardKind::swiglu:
      break;
  }
  return w2(silu(inner));
}

void FeedForward::visit(Visitor& visitor) {
  visitor.child("w1", w1);
  visitor.child("w2", w2);
}

AnyFeedForward make_feed_forward(FeedForwardKind kind, int64_t d_model, int64_t d_ff,
                                 Generator& generator, DType dtype, Device device, Bias bias) {
  if (kind == FeedForwardKind::swiglu) return SwiGLU(d_model, d_ff, generator, dtype, device, bias);
  return FeedForward(d_model, d_ff, kind, generator, dtype, device, bias);
}

int64_t default_d_ff(FeedForwardKind kind, int64_t d_model) {
  if (kind != FeedForwardKind::swiglu) return 4 * d_model;
  constexpr int64_t kMultiple = 64;
  return (8 * d_model + 3 * kMultiple - 1) / (3 * kMultiple) * kMultiple;
}

}  // namespace tapir::nn
