#include "autograd/op_cases.h"
#include "autograd/reference.h"

namespace tapir {
namespace {

using Inputs = std::vector<Tensor>;

Tensor ints(std::initializer_list<int32_t> values, const Shape& shape, const Tensor& like) {
  const std::vector<int32_t> list(values);
  return to(Tensor::from(std::span<const int32_t>(list), shape), like.device());
}

void add_sums(std::vector<OpCase>& cases) {
  const std::vector<std::pair<Shape, std::vector<int64_t>>> reductions = {
      {{2, 3, 4}, {}},     {{2, 3, 4}, {0}}, {{2, 3, 4}, {1}}, {{2, 3, 4}, {-1}},
      {{2, 3, 4}, {0, 2}}, {{129}, {0}},     {{33, 7}, {0}},   {{}, {}}};
  for (const auto& entry : reductions) {
    const Shape shape = entry.first;
    const std::vector<int64_t> axes = entry.second;
    const std::string variant = fmt::format("{} over {} axes", shape, axes.size()) +
                                (axes.empty() ? "" : fmt::format(", first {}", axes[0]));
    cases.push_back(
        {"sum", variant, {{shape}}, [axes](const Inputs& in) { return sum(in[0], axes); }});
    cases.push_back(
        {"mean", variant, {{shape}}, [axes](const Inputs& in) { return mean(in[0], axes, true); }});
    if (numel(shape) > 1) {
      cases.push_back({"var",
                       variant,
                       {{shape}},
                       [axes](const Inputs& in) { return var(in[0], axes); },
                       [axes](const Inputs& in) {
                         const Tensor m = mean(in[0], axes, true);
                         const double n = static_cast<double>(in[0].numel() / m.numel());
                         return (sum(square(in[0]), axes) - sum(square(m) * n, axes)) / (n - 1);
                       }});
    }
  }
  cases.push_back(
      {"sum", "[0, 3] over axis 0", {{{0, 3}}}, [](const Inputs& in) { return sum(in[0], {0}); }});
  cases.push_back({"var", "biased, keepdim", {{{3, 7}}}, [](const Inputs& in) {
                     return var(in[0], {1}, false, true);
                   }});
}

void add_scans(std::vector<OpCase>& cases) {
  for (int64_t size : kOddSizes) {
    const Shape shape{3, size};
    cases.push_back({"max", shape.to_string(), {{shape, Values::distinct}}, [](const Inputs& in) {
                       return max(in[0], 1);
                     }});
    cases.push_back({"cumsum",
                     shape.to_string(),
                     {{shape}},
                     [](const Inputs& in) { return cumsum(in[0], 1); },
                     [](const Inputs& in) { return reference::cumsum(in[0], 1); }});
    cases.push_back({"sort", shape.to_string(), {{shape, Values::distinct}}, [](const Inputs& in) {
                       return sort(in[0], 1).first;
                     }});
    cases.push_back({"logsumexp",
                     shape.to_string(),
                     {{shape}},
                     [](const Inputs& in) { return logsumexp(in[0], 1); },
                     [](const Inputs& in) { return reference::logsumexp(in[0], 1); }});
    for (int64_t axis : {0, 1}) {
      const std::string variant = fmt::format("{} axis {}", shape, axis);
      cases.push_back({"softmax",
                       variant,
                       {{shape}},
                       [axis](const Inputs& in) { return softmax(in[0], axis); },
                       [axis](const Inputs& in) { return reference::softmax(in[0], axis); }});
      cases.push_back({"log_softmax",
                       variant,
                       {{shape}},
                       [axis](const Inputs& in) { return log_softmax(in[0], axis); },
                       [axis](const Inputs& in) { return reference::log_softmax(in[0], axis); }});
    }
  }
  cases.push_back(
      {"softmax", "[0, 5]", {{{0, 5}}}, [](const Inputs& in) { return softmax(in[0], -1); }});
  cases.push_back(
      {"softmax", "[]", {{{}}}, [](const Inputs& in) { return softmax(in[0]) * in[0]; }});
  cases.push_back({"max", "axis 0, keepdim", {{{5, 2, 3}, Values::distinct}}, [](const Inputs& in) {
                     return max(in[0], 0, true);
                   }});
  cases.push_back({"cumsum",
                   "axis 0",
                   {{{5, 2, 3}}},
                   [](const Inputs& in) { return cumsum(in[0], 0); },
                   [](const Inputs& in) { return reference::cumsum(in[0], 0); }});
  cases.push_back(
      {"sort", "descending, axis 0", {{{5, 2, 3}, Values::distinct}}, [](const Inputs& in) {
         return sort(in[0], 0, true).first;
       }});
  cases.push_back({"topk", "2 of 5, axis 0", {{{5, 3}, Values::distinct}}, [](const Inputs& in) {
                     return topk(in[0], 2, 0).first;
                   }});
  cases.push_back({"logsumexp",
                   "axis 0, keepdim",
                   {{{5, 3}}},
                   [](const Inputs& in) { return logsumexp(in[0], 0, true); },
                   [](const Inputs& in) { return reference::logsumexp(in[0], 0, true); }});
}

void add_indexing(std::vector<OpCase>& cases) {
  cases.push_back({"gather", "[3, 5] along 1", {{{3, 5}}}, [](const Inputs& in) {
                     return gather(in[0], 1, ints({4, 0, 0, 2, 2, 1}, {3, 2}, in[0]));
                   }});
  cases.push_back({"gather", "[3, 2] along 0", {{{3, 2}}}, [](const Inputs& in) {
                     return gather(in[0], 0, ints({2, 0, 0, 2}, {2, 2}, in[0]));
                   }});
  cases.push_back({"scatter_add",
                   "[2, 4], repeated positions",
                   {{{2, 4}}, {{2, 3}}},
                   [](const Inputs& in) {
                     return scatter_add(in[0], 1, ints({1, 1, 3, 0, 2, 0}, {2, 3}, in[0]), in[1]);
                   },
                   [](const Inputs& in) {
                     const Tensor index = ints({1, 1, 3, 0, 2, 0}, {2, 3}, in[0]);
                     const Tensor hot = reference::one_hot(index, 4, in[0].dtype());
                     return in[0] + sum(hot * unsqueeze(in[1], -1), {1});
                   }});
  cases.push_back({"scatter", "[2, 4] along 1", {{{2, 4}}, {{2, 2}}}, [](const Inputs& in) {
                     return scatter(in[0], 1, ints({3, 1, 0, 2}, {2, 2}, in[0]), in[1]);
                   }});
  cases.push_back({"scatter", "[4, 2] along 0", {{{4, 2}}, {{1, 2}}}, [](const Inputs& in) {
                     return scatter(in[0], 0, ints({3, 1}, {1, 2}, in[0]), in[1]);
                   }});
  for (int64_t axis : {0, 1, 2}) {
    cases.push_back({"index_select",
                     fmt::format("[3, 4, 5] axis {}", axis),
                     {{{3, 4, 5}}},
                     [axis](const Inputs& in) {
                       return index_select(in[0], axis, ints({2, 0, 2, 1}, {4}, in[0]));
                     },
                     [axis](const Inputs& in) {
                       std::vector<Tensor> rows;
                       for (int64_t i : {2, 0, 2, 1}) rows.push_back(select(in[0], axis, i));
                       return stack(rows, axis);
                     }});
  }
}

}  // namespace

void add_reduction_cases(std::vector<OpCase>& cases) {
  add_sums(cases);
  add_scans(cases);
  add_indexing(cases);
}

}  // namespace tapir
