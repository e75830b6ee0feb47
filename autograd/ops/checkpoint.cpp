// Activation checkpointing: keep the inputs, forget the inside, recompute it on the way back.
// Source: Chen et al. 2016, "Training deep nets with sublinear memory cost".
#include "autograd/ops.h"

namespace tapir {
namespace {

// fn run again on its own tape, which sends the parameters their gradients; those of the inputs
// are returned.
std::vector<Tensor> rerun(const CheckpointedFunction& fn, const std::vector<Tensor>& inputs,
                          const Tensor& grad) {
  Tape tape;
  std::vector<Tensor> leaves;
  for (const Tensor& input : inputs) {
    leaves.push_back(detach(input));
    if (input.requires_grad()) leaves.back().set_requires_grad();
  }
  const Tensor output = fn(leaves);
  if (output.requires_grad()) tape.backward(output, grad);
  std::vector<Tensor> grads;
  for (const Tensor& leaf : leaves) grads.push_back(leaf.grad());
  return grads;
}

// Puts a generator, if there is one, back to an earlier state until the end of a scope.
class Rewound {
 public:
  Rewound(Generator* generator, const Generator& earlier) : generator_(generator) {
    if (generator_) now_ = std::exchange(*generator_, earlier);
  }
  ~Rewound() {
    if (generator_) *generator_ = now_;
  }
  Rewound(const Rewound&) = delete;
  Rewound& operator=(const Rewound&) = delete;

 private:
  Generator* generator_;
  Generator now_;
};

}  // namespace

Tensor checkpoint(const CheckpointedFunction& fn, const std::vector<Tensor>& inputs,
                  Generator* generator) {
  if (!Tape::recording()) return fn(inputs);
  const Generator before = generator ? *generator : Generator();
  Tensor output;
  {
    NoGrad pause;
    output = fn(inputs);
  }
  // Parameters that fn captures may be all that requires grad, so the node is recorded always:
  // through a stand-in input of no elements.
  std::vector<Tensor> recorded = inputs;
  recorded.push_back(Tensor::empty({0}, output.dtype(), output.device()).set_requires_grad());
  return record("checkpoint", detach(output), std::span<const Tensor>(recorded),
                [=](const Tensor& grad) {
                  const Rewound rewound(generator, before);
                  std::vector<Tensor> grads = rerun(fn, inputs, grad);
                  grads.emplace_back();  // of the stand-in
                  return grads;
                });
}

}  // namespace tapir
