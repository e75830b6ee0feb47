// An operation of your own: softplus(x) = log(1 + exp(x)), with its gradient, checked against
// finite differences. Its derivative is sigmoid(x).
#include "autograd/gradcheck.h"
#include "autograd/ops.h"

using namespace tapir;

// record() notes on the tape how to go back. What the function captures is what is saved: here x.
Tensor softplus(const Tensor& x) {
  Tensor out;
  {
    NoGrad pause;  // the inside is not recorded, the operation as a whole is
    // log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), which never overflows.
    out = relu(x) + log(exp(-abs(x)) + 1.0);
  }
  return record("softplus", out, {x},
                [x](const Tensor& grad) { return std::vector{grad * sigmoid(x)}; });
}

// The same with a mistake in its gradient, to see that the check finds it.
Tensor wrong_softplus(const Tensor& x) {
  return record("wrong_softplus", detach(softplus(x)), {x},
                [x](const Tensor& grad) { return std::vector{grad * sigmoid(-x)}; });
}

int main() {
  Generator generator(0);
  Tensor x = randn({3, 4}, generator, DType::f64);
  x.set_requires_grad();
  const std::vector<NamedTensor> tensors{{"x", x}};

  const GradcheckReport right = gradcheck([&] { return softplus(x); }, tensors);
  fmt::print("softplus: {}\n{}\n", right.passed() ? "pass" : "FAIL", right.to_string());
  const GradcheckReport wrong = gradcheck([&] { return wrong_softplus(x); }, tensors);
  fmt::print("wrong_softplus: {}\n{}", wrong.passed() ? "pass" : "FAIL", wrong.to_string());
  return right.passed() && !wrong.passed() ? 0 : 1;
}
