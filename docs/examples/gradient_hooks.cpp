// Reads gradients on their way back: of an inner tensor by a hook, of another by retain_grad(), and
// of the parameters after the pass. Then watches every node of the tape with an observer.
#include <cmath>

#include "autograd/ops.h"
#include "autograd/tape_observer.h"
#include "nn/feed_forward.h"

using namespace tapir;

// Is told about each node that the backward pass runs.
class BackwardPrinter : public TapeObserver {
 public:
  int count = 0;

 private:
  void backward_begins(const Tape&, size_t node, std::string_view op, const Tensor& grad) override {
    fmt::print("  node {} {}: gradient {}\n", node, op, grad.shape());
    ++count;
  }
};

int main() {
  Generator generator(0);
  nn::SwiGLU layer(4, 8, generator);
  const Tensor x = randn({2, 4}, generator);

  Tape tape;
  const Tensor up = layer.w3(x);
  const Tensor hidden = swiglu(layer.w1(x), up);
  double largest = 0;
  hidden.register_hook([&](const Tensor& grad) {  // once, when the whole gradient is there
    for (const double value : grad.to_vector()) largest = std::max(largest, std::abs(value));
  });
  up.retain_grad();  // inner gradients are freed otherwise
  const Tensor loss = mean(square(layer.w2(hidden)));
  fmt::print("the tape has {} nodes; running backwards:\n", tape.size());
  BackwardPrinter printer;
  tape.backward(loss);

  fmt::print("largest gradient at the hidden layer: {:.4f}\n", largest);
  fmt::print("gradient at up: {}\n", up.grad().shape());
  for (const NamedTensor& parameter : layer.named_parameters()) {
    fmt::print("gradient of {}: {}\n", parameter.name, parameter.tensor.grad().shape());
  }
  return largest > 0 && up.grad().defined() && printer.count > 0 ? 0 : 1;
}
