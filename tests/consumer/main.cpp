// A program outside the project that uses the installed package: the gradient of sum(x^2) is 2x.
#include <fmt/format.h>

#include "autograd/ops.h"

int main() {
  tapir::Tape tape;
  tapir::Tensor x = tapir::Tensor::from({1.0, 2.0, 3.0}, {3}).set_requires_grad();
  sum(square(x)).backward();
  fmt::print("gradient {}\n", x.grad().to_string());
  return x.grad().to_vector() == std::vector<double>{2, 4, 6} ? 0 : 1;
}
