// A layer of your own inside a model: a feed-forward layer whose output is scaled by a learned
// number for each channel. visit() lists the fields; names, parameters and state dict follow.
#include "autograd/ops.h"
#include "nn/feed_forward.h"
#include "nn/init.h"
#include "nn/norm.h"

using namespace tapir;

class ScaledFeedForward : public nn::Module {
 public:
  ScaledFeedForward(int64_t width, int64_t hidden, Generator& generator)
      : norm(width), ffn(width, hidden, generator) {
    scale = nn::parameter(Tensor::full({width}, 0.1));
  }

  Tensor operator()(const Tensor& x) const {  // [..., C] -> [..., C]
    const Scope scope = enter();              // errors and the tape name this layer
    return x + ffn(norm(x)) * scale;
  }

  void visit(nn::Visitor& visitor) override {
    visitor.child("norm", norm);
    visitor.child("ffn", ffn);
    visitor.parameter("scale", scale);
  }

  nn::RMSNorm norm;
  nn::SwiGLU ffn;
  Tensor scale;
};

class Stack : public nn::Module {
 public:
  Stack(int64_t count, int64_t width, Generator& generator) {
    for (int64_t i = 0; i < count; ++i) layers.emplace_back(width, 2 * width, generator);
    name_layers();
  }
  Tensor operator()(Tensor x) const {
    for (const ScaledFeedForward& layer : layers) x = layer(x);
    return x;
  }
  void visit(nn::Visitor& visitor) override { visitor.children("layers", layers); }

  std::vector<ScaledFeedForward> layers;
};

int main() {
  Generator generator(0);
  const Stack model(2, 8, generator);
  Tape tape;
  tape.backward(mean(square(model(randn({3, 8}, generator)))));
  for (const NamedTensor& parameter : model.named_parameters()) {
    fmt::print("{:<24} {} gradient {}\n", parameter.name, parameter.tensor.shape(),
               parameter.tensor.grad().defined() ? "yes" : "NO");
  }
  return model.named_parameters().size() == 10 ? 0 : 1;
}
