#include <algorithm>
#include <numeric>

#include "autograd/op_cases.h"

namespace tapir {
namespace {

// 0.1 i + shift for whole numbers i around 0, in random order.
Tensor shuffled_steps(const Shape& shape, double shift, Generator& generator) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  const auto middle = static_cast<double>(values.size() / 2);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = 0.1 * (static_cast<double>(i) - middle) + shift;
  }
  for (size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[generator.below(i)]);
  return Tensor::from(values, shape, DType::f64);
}

// In f64 on the CPU, so that every dtype and device gets the same numbers.
Tensor draw(const OpInput& input, Generator& generator) {
  const Tensor normal = randn(input.shape, generator, DType::f64);
  switch (input.values) {
    case Values::normal:
      return normal;
    case Values::positive:
      return rand(input.shape, generator, DType::f64) * 1.5 + 0.5;
    case Values::away_from_zero: {
      const Tensor zero = Tensor::zeros({}, DType::f64);
      return where(lt(normal, zero), normal - 0.3, normal + 0.3);
    }
    case Values::distinct:
      return shuffled_steps(input.shape, 0, generator);
    case Values::between:
      return shuffled_steps(input.shape, 0.05, generator);
  }
  return normal;
}

}  // namespace

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> cases = [] {
    std::vector<OpCase> all;
    add_elementwise_cases(all);
    add_shape_cases(all);
    add_reduction_cases(all);
    add_product_cases(all);
    add_fused_cases(all);
    add_attention_cases(all);
    return all;
  }();
  return cases;
}

std::vector<Tensor> make_inputs(const OpCase& op_case, uint64_t seed, DType dtype, Device device) {
  NoGrad pause;
  Generator generator(seed);
  std::vector<Tensor> inputs;
  for (const OpInput& input : op_case.inputs) {
    inputs.push_back(to(to(draw(input, generator), dtype), device).set_requires_grad());
  }
  return inputs;
}

}  // namespace tapir
