// The position-wise feed-forward sublayer in its two forms.
#pragma once

#include <variant>

#include "nn/linear.h"
#include "nn/module.h"
#include "nn/options.h"

namespace tapir::nn {

// W2 (silu(W1 x) * W3 x): [..., C] -> [..., C]. Parameters: w1.weight, w3.weight [F, C],
// w2.weight [C, F], and with bias w1.bias, w3.bias [F], w2.bias [C]. Source: Shazeer 2020, "GLU
// variants improve Transformer".
class SwiGLU : public Module {
 public:
  SwiGLU(int64_t d_model, int64_t d_ff, Generator& generator, DType dtype = DType::f32,
         Device device = kCpu, Bias bias = Bias::no);

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& visitor) override;

  Linear w1, w2, w3;
};

// W2 act(W1 x): [..., C] -> [..., C]. Parameters: w1.weight [F, C], w2.weight [C, F], and with bias
// w1.bias [F], w2.bias [C].
class FeedForward : public Module {
 public:
  // `activation` is any kind but swiglu.
  FeedForward(int64_t d_model, int64_t d_ff, FeedForwardKind activation, Generator& generator,
              DType dtype = DType::f32, Device device = kCpu, Bias bias = Bias::no);

  Tensor operator()(const Tensor& x) const;
  void visit(Visitor& visitor) override;

  Linear w1, w2;

 private:
  FeedForwardKind activation_;
};

using AnyFeedForward = std::variant<SwiGLU, FeedForward>;

AnyFeedForward make_feed_forward(FeedForwardKind kind, int64_t d_model, int64_t d_ff,
                                 Generator& generator, DType dtype = DType::f32,
                                 Device device = kCpu, Bias bias = Bias::no);

// The width F that gives both forms the same number of parameters: 4 C, and for the three
// matrices of swiglu 8/3 C rounded up to a multiple of 64.
int64_t default_d_ff(FeedForwardKind kind, int64_t d_model);

}  // namespace tapir::nn
