#include <cmath>

#include "autograd/op_cases.h"

namespace tapir {
namespace {

using Inputs = std::vector<Tensor>;

constexpr int64_t kSizes[] = {0, 1, 7, 31, 32, 33, 129};

// A host loop as oracle: values only, no gradient.
OpFunction host(double (*function)(double)) {
  return [function](const Inputs& in) {
    std::vector<double> values = in[0].to_vector();
    for (double& value : values) value = function(value);
    return to(Tensor::from(values, in[0].shape(), in[0].dtype()), in[0].device());
  };
}

struct UnaryCase {
  const char* op;
  Values values;
  Tensor (*run)(const Tensor&);
  OpFunction reference;
};

OpFunction composed(Tensor (*function)(const Tensor&)) {
  return [function](const Inputs& in) { return function(in[0]); };
}

std::vector<UnaryCase> unary_cases() {
  return {
      {"neg", Values::normal, neg, composed([](const Tensor& x) { return x * -1.0; })},
      {"abs", Values::away_from_zero, abs, host(std::fabs)},
      {"exp", Values::normal, exp, host(std::exp)},
      {"log", Values::positive, log, host(std::log)},
      {"sqrt", Values::positive, sqrt, composed([](const Tensor& x) { return pow(x, 0.5); })},
      {"rsqrt", Values::positive, rsqrt, composed([](const Tensor& x) { return pow(x, -0.5); })},
      {"square", Values::normal, square, composed([](const Tensor& x) { return x * x; })},
      {"reciprocal", Values::away_from_zero, reciprocal,
       composed([](const Tensor& x) { return pow(x, -1.0); })},
      {"sin", Values::normal, sin, host(std::sin)},
      {"cos", Values::normal, cos, host(std::cos)},
      {"tanh", Values::normal, tanh,
       composed([](const Tensor& x) { return sigmoid(x * 2.0) * 2.0 - 1.0; })},
      {"erf", Values::normal, erf, host(std::erf)},
      {"sigmoid", Values::normal, sigmoid,
       composed([](const Tensor& x) { return reciprocal(exp(-x) + 1.0); })},
      {"relu", Values::away_from_zero, relu,
       composed([](const Tensor& x) { return (x + abs(x)) * 0.5; })},
      {"silu", Values::normal, silu, composed([](const Tensor& x) { return x * sigmoid(x); })},
      {"gelu", Values::normal, gelu,
       composed([](const Tensor& x) { return x * (erf(x * std::sqrt(0.5)) + 1.0) * 0.5; })},
      {"gelu_tanh", Values::normal, gelu_tanh, composed([](const Tensor& x) {
         const Tensor inner = (x + x * x * x * 0.044715) * std::sqrt(2 / M_PI);
         return x * (tanh(inner) + 1.0) * 0.5;
       })},
  };
}

struct BinaryCase {
  const char* op;
  Values left, right;
  Tensor (*run)(const Tensor&, const Tensor&);
  OpFunction reference;
};

std::vector<BinaryCase> binary_cases() {
  const auto pair = [](Tensor (*function)(const Tensor&, const Tensor&)) -> OpFunction {
    return [function](const Inputs& in) { return function(in[0], in[1]); };
  };
  return {
      {"add", Values::normal, Values::normal, add,
       pair([](const Tensor& a, const Tensor& b) { return a - (-b); })},
      {"sub", Values::normal, Values::normal, sub,
       pair([](const Tensor& a, const Tensor& b) { return a + (-b); })},
      {"mul", Values::normal, Values::away_from_zero, mul,
       pair([](const Tensor& a, const Tensor& b) { return a / pow(b, -1.0); })},
      {"div", Values::normal, Values::away_from_zero, div,
       pair([](const Tensor& a, const Tensor& b) { return a * pow(b, -1.0); })},
      {"pow", Values::positive, Values::positive, pow,
       pair([](const Tensor& a, const Tensor& b) { return exp(b * log(a)); })},
      {"maximum", Values::distinct, Values::between, maximum,
       pair([](const Tensor& a, const Tensor& b) { return (a + b + abs(a - b)) * 0.5; })},
      {"minimum", Values::distinct, Values::between, minimum,
       pair([](const Tensor& a, const Tensor& b) { return (a + b - abs(a - b)) * 0.5; })},
  };
}

void add_broadcasts(std::vector<OpCase>& cases, const BinaryCase& binary) {
  const Shape shapes[][2] = {{{33}, {33}},      {{3, 7}, {7}},          {{3, 7}, {3, 1}},
                             {{3, 1}, {1, 7}},  {{2, 1, 5}, {3, 1}},    {{}, {2, 3}},
                             {{2, 3}, {}},      {{0, 3}, {3}},          {{1}, {1}},
                             {{4, 129}, {129}}, {{2, 3, 1, 5}, {4, 1}}, {{0}, {1}}};
  for (const auto& [a, b] : shapes) {
    const auto run = binary.run;
    cases.push_back({binary.op,
                     fmt::format("{} {}", a, b),
                     {{a, binary.left}, {b, binary.right}},
                     [run](const Inputs& in) { return run(in[0], in[1]); },
                     binary.reference});
  }
  const auto run = binary.run;
  cases.push_back({binary.op, "with itself", {{{2, 5}, binary.right}}, [run](const Inputs& in) {
                     return run(in[0], in[0]);
                   }});
}

Tensor checkerboard(const Shape& shape, Device device) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = i % 3 == 1;
  return to(Tensor::from(values, shape, DType::boolean), device);
}

void add_scalar_cases(std::vector<OpCase>& cases) {
  cases.push_back({"add", "scalar", {{{2, 7}}}, [](const Inputs& in) { return in[0] + 1.5; }});
  cases.push_back({"mul", "scalar", {{{2, 7}}}, [](const Inputs& in) { return 2.5 * in[0]; }});
  cases.push_back({"sub", "from scalar", {{{2, 7}}}, [](const Inputs& in) { return 1.0 - in[0]; }});
  cases.push_back({"div", "of scalar", {{{2, 7}, Values::away_from_zero}}, [](const Inputs& in) {
                     return 3.0 / in[0];
                   }});
  for (double exponent : {-1.5, 0.0, 0.5, 1.0, 2.0, 3.0}) {
    cases.push_back({"pow",
                     fmt::format("exponent {}", exponent),
                     {{{2, 7}, Values::positive}},
                     [exponent](const Inputs& in) { return pow(in[0], exponent); }});
  }
  cases.push_back({"clamp_min",
                   "0.25",
                   {{{3, 11}, Values::distinct}},
                   [](const Inputs& in) { return clamp_min(in[0], 0.25); },
                   [](const Inputs& in) { return relu(in[0] - 0.25) + 0.25; }});
}

}  // namespace

void add_elementwise_cases(std::vector<OpCase>& cases) {
  for (const UnaryCase& unary : unary_cases()) {
    const auto run = unary.run;
    for (int64_t size : kSizes) {
      cases.push_back({unary.op,
                       fmt::format("[{}]", size),
                       {{{size}, unary.values}},
                       [run](const Inputs& in) { return run(in[0]); },
                       unary.reference});
    }
    cases.push_back({unary.op,
                     "[2, 3, 5]",
                     {{{2, 3, 5}, unary.values}},
                     [run](const Inputs& in) { return run(in[0]); },
                     unary.reference});
  }
  for (const BinaryCase& binary : binary_cases()) add_broadcasts(cases, binary);
  add_scalar_cases(cases);
  for (const auto& [condition, a, b] :
       std::vector<std::tuple<Shape, Shape, Shape>>{{{3, 7}, {3, 7}, {3, 7}},
                                                    {{3, 1}, {7}, {3, 7}},
                                                    {{2, 3, 7}, {1, 7}, {}},
                                                    {{0}, {0}, {0}}}) {
    const Shape shape = condition;
    cases.push_back({"where",
                     fmt::format("{} {} {}", condition, a, b),
                     {{a}, {b}},
                     [shape](const Inputs& in) {
                       return where(checkerboard(shape, in[0].device()), in[0], in[1]);
                     },
                     [shape](const Inputs& in) {
                       const Tensor pick = to(checkerboard(shape, in[0].device()), in[0].dtype());
                       return in[0] * pick + in[1] * (1.0 - pick);
                     }});
  }
  cases.push_back({"masked_fill", "[3, 7] by [7]", {{{3, 7}}}, [](const Inputs& in) {
                     return masked_fill(in[0], checkerboard({7}, in[0].device()), -2.0);
                   }});
}

}  // namespace tapir
