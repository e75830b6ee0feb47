#include "autograd/op_cases.h"
#include "autograd/reference.h"

namespace tapir {
namespace {

using Inputs = std::vector<Tensor>;

struct Option {
  std::string name;
  Shape q, k, v;
  bool causal = false;
  std::optional<double> scale = {};
  Shape mask = {};  // rank 0: none
};

// Keeps most keys; the first query of a mask with rows sees nothing, to meet that rule too.
Tensor some_mask(const Shape& shape, Device device) {
  std::vector<double> values(static_cast<size_t>(numel(shape)));
  const auto keys = static_cast<size_t>(shape.back());
  for (size_t i = 0; i < values.size(); ++i) values[i] = i % 5 != 3;
  if (shape.rank() >= 2 && shape[shape.rank() - 2] > 1) {
    for (size_t i = 0; i < keys; ++i) values[i] = 0;
  }
  return to(Tensor::from(values, shape, DType::boolean), device);
}

std::vector<Option> options() {
  return {
      {"plain", {2, 3, 5, 4}, {2, 3, 5, 4}, {2, 3, 5, 4}},
      {"one of each", {1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1, 1, 1}},
      {"rank 2", {7, 4}, {5, 4}, {5, 6}},
      {"rank 3", {2, 7, 4}, {2, 5, 4}, {2, 5, 4}},
      {"causal", {2, 2, 33, 8}, {2, 2, 33, 8}, {2, 2, 33, 8}, true},
      {"causal, several row blocks", {1, 2, 129, 4}, {1, 2, 129, 4}, {1, 2, 129, 4}, true},
      {"causal, several key blocks", {1, 1, 7, 4}, {1, 1, 600, 4}, {1, 1, 600, 4}, true},
      {"causal, more keys than queries", {1, 2, 3, 4}, {1, 2, 9, 4}, {1, 2, 9, 4}, true},
      {"causal, fewer keys than queries", {1, 2, 7, 4}, {1, 2, 4, 4}, {1, 2, 4, 4}, true},
      {"explicit scale", {1, 2, 5, 4}, {1, 2, 5, 4}, {1, 2, 5, 4}, false, 0.3},
      {"wider values", {1, 2, 5, 4}, {1, 2, 6, 4}, {1, 2, 6, 9}},
      {"grouped heads", {2, 6, 5, 4}, {2, 2, 5, 4}, {2, 2, 5, 4}, true},
      {"one key head", {2, 4, 5, 4}, {2, 1, 5, 4}, {2, 1, 5, 4}},
      {"mask [T, S]", {2, 2, 5, 4}, {2, 2, 7, 4}, {2, 2, 7, 4}, false, {}, {5, 7}},
      {"mask [B, 1, 1, S]", {2, 2, 5, 4}, {2, 2, 7, 4}, {2, 2, 7, 4}, false, {}, {2, 1, 1, 7}},
      {"mask and causal, grouped",
       {2, 4, 6, 4},
       {2, 2, 6, 4},
       {2, 2, 6, 4},
       true,
       {},
       {2, 1, 6, 6}},
      {"no queries", {1, 2, 0, 4}, {1, 2, 5, 4}, {1, 2, 5, 4}},
      {"no keys", {1, 2, 3, 4}, {1, 2, 0, 4}, {1, 2, 0, 4}},
      {"head size 64", {1, 2, 31, 64}, {1, 2, 32, 64}, {1, 2, 32, 64}},
  };
}

}  // namespace

void add_attention_cases(std::vector<OpCase>& cases) {
  for (const Option& option : options()) {
    const auto arguments = [option](Device device) {
      AttentionArguments result;
      result.causal = option.causal;
      result.scale = option.scale;
      if (option.mask.rank() > 0) result.mask = some_mask(option.mask, device);
      return result;
    };
    OpFunction reference = [arguments](const Inputs& in) {
      return reference::scaled_dot_product_attention(in[0], in[1], in[2],
                                                     arguments(in[0].device()));
    };
    if (option.name == "no keys") reference = nullptr;  // the reference has no maximum of nothing
    cases.push_back({"scaled_dot_product_attention",
                     option.name,
                     {{option.q}, {option.k}, {option.v}},
                     [arguments](const Inputs& in) {
                       return scaled_dot_product_attention(in[0], in[1], in[2],
                                                           arguments(in[0].device()));
                     },
                     reference});
  }
}

}  // namespace tapir
