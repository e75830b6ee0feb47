// A multi-layer perceptron learns exclusive or: the smallest problem that needs a hidden layer.
#include "autograd/ops.h"
#include "nn/linear.h"
#include "optim/adamw.h"

using namespace tapir;

struct Mlp : nn::Module {
  nn::Linear up, down;

  Mlp(int64_t in, int64_t hidden, int64_t out, Generator& generator)
      : up(in, hidden, generator, nn::Bias::yes), down(hidden, out, generator, nn::Bias::yes) {}

  Tensor operator()(const Tensor& x) const { return down(tanh(up(x))); }  // [B, in] -> [B, out]

  void visit(nn::Visitor& visitor) override {
    visitor.child("up", up);
    visitor.child("down", down);
  }
};

int main() {
  const Tensor inputs = Tensor::from({0, 0, 0, 1, 1, 0, 1, 1}, {4, 2});
  const std::vector<int32_t> answers{0, 1, 1, 0};
  const Tensor targets = Tensor::from(std::span<const int32_t>(answers), {4});

  Generator generator(1);
  Mlp model(2, 8, 2, generator);
  optim::AdamW optimizer(model.named_parameters(), {.lr = 0.05, .weight_decay = 0});
  for (int step = 0; step < 200; ++step) {
    Tape tape;  // records until the end of this scope
    const Tensor loss = cross_entropy(model(inputs), targets);
    tape.backward(loss);
    optimizer.step();
    optimizer.zero_grad();
    if (step % 50 == 0) fmt::print("step {:3}: loss {:.4f}\n", step, loss.item());
  }

  const std::vector<int32_t> found = argmax(model(inputs), -1).to_ints();  // no tape: not recorded
  fmt::print("0^0 0^1 1^0 1^1 = {} {} {} {}\n", found[0], found[1], found[2], found[3]);
  return found == answers ? 0 : 1;
}
