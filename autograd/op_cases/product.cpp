#include "autograd/op_cases.h"
#include "autograd/reference.h"

namespace tapir {
namespace {

using Inputs = std::vector<Tensor>;

// The definition, with a tensor of all products: sum_k a[..., m, k] b[..., k, n].
Tensor product_of(const Tensor& a, const Tensor& b) {
  return sum(unsqueeze(a, -1) * unsqueeze(b, -3), {-2});
}

void add_matmuls(std::vector<OpCase>& cases) {
  const std::vector<std::pair<Shape, Shape>> pairs = {
      {{1, 1}, {1, 1}},       {{7, 5}, {5, 3}},    {{31, 33}, {33, 32}}, {{129, 7}, {7, 33}},
      {{2, 3, 4}, {2, 4, 5}}, {{2, 3, 4}, {4, 5}}, {{3, 4}, {2, 4, 5}},  {{2, 1, 3, 4}, {5, 4, 2}},
      {{0, 3}, {3, 2}},       {{2, 0}, {0, 3}},    {{2, 3}, {3, 0}},     {{0, 2, 3}, {0, 3, 2}},
      {{1, 129}, {129, 1}}};
  for (const auto& entry : pairs) {
    cases.push_back({"matmul",
                     fmt::format("{} {}", entry.first, entry.second),
                     {{entry.first}, {entry.second}},
                     [](const Inputs& in) { return matmul(in[0], in[1]); },
                     [](const Inputs& in) { return product_of(in[0], in[1]); }});
  }
  const std::vector<std::pair<Shape, Shape>> vectors = {
      {{5}, {5}}, {{5}, {5, 3}}, {{3, 5}, {5}}, {{5}, {2, 5, 3}}, {{2, 3, 5}, {5}}};
  for (const auto& entry : vectors) {
    cases.push_back({"matmul",
                     fmt::format("{} {}", entry.first, entry.second),
                     {{entry.first}, {entry.second}},
                     [](const Inputs& in) { return matmul(in[0], in[1]); }});
  }
  cases.push_back(
      {"matmul",
       "transposed operands",
       {{{5, 7}}, {{3, 5}}},
       [](const Inputs& in) { return matmul(transpose(in[0]), transpose(in[1])); },
       [](const Inputs& in) { return product_of(transpose(in[0]), transpose(in[1])); }});
  cases.push_back({"matmul", "with its own transpose", {{{4, 6}}}, [](const Inputs& in) {
                     return matmul(in[0], transpose(in[0]));
                   }});
  cases.push_back(
      {"outer",
       "[3] [5]",
       {{{3}}, {{5}}},
       [](const Inputs& in) { return outer(in[0], in[1]); },
       [](const Inputs& in) { return matmul(unsqueeze(in[0], 1), unsqueeze(in[1], 0)); }});
}

struct EinsumCase {
  const char* equation;
  Shape a, b;
  OpFunction reference;
};

void add_einsums(std::vector<OpCase>& cases) {
  const std::vector<EinsumCase> list = {
      {"ij,jk->ik", {3, 4}, {4, 5}, [](const Inputs& in) { return matmul(in[0], in[1]); }},
      {"ij,jk->ki",
       {3, 4},
       {4, 5},
       [](const Inputs& in) { return transpose(matmul(in[0], in[1])); }},
      {"bij,bjk->bik", {2, 3, 4}, {2, 4, 5}, [](const Inputs& in) { return matmul(in[0], in[1]); }},
      {"i,j->ij", {3}, {4}, [](const Inputs& in) { return outer(in[0], in[1]); }},
      {"i,i->", {5}, {5}, [](const Inputs& in) { return sum(in[0] * in[1]); }},
      {"ij,ij->ij", {3, 4}, {3, 4}, [](const Inputs& in) { return in[0] * in[1]; }},
      {"ijk,kl->il",
       {2, 3, 4},
       {4, 5},
       [](const Inputs& in) { return matmul(sum(in[0], {1}), in[1]); }},
      {"... i, o i -> ... o",
       {2, 3, 4},
       {5, 4},
       [](const Inputs& in) { return matmul(in[0], transpose(in[1])); }},
      {"...ij,...jk->...ik",
       {2, 1, 3, 4},
       {5, 4, 2},
       [](const Inputs& in) { return matmul(in[0], in[1]); }},
      {"bhtd,bhsd->bhts",
       {2, 2, 3, 4},
       {2, 2, 5, 4},
       [](const Inputs& in) { return matmul(in[0], transpose(in[1])); }},
      {"b...d,d->...b",
       {2, 3, 4},
       {4},
       [](const Inputs& in) { return transpose(matmul(in[0], in[1])); }},
  };
  for (const EinsumCase& entry : list) {
    const std::string equation = entry.equation;
    cases.push_back({"einsum",
                     equation,
                     {{entry.a}, {entry.b}},
                     [equation](const Inputs& in) { return einsum(equation, in[0], in[1]); },
                     entry.reference});
  }
}

void add_linears(std::vector<OpCase>& cases) {
  const std::vector<std::pair<Shape, Shape>> pairs = {
      {{5}, {3, 5}},          {{7, 5}, {3, 5}}, {{2, 3, 33}, {31, 33}},
      {{2, 1, 3, 4}, {1, 4}}, {{0, 4}, {3, 4}}, {{129, 32}, {7, 32}}};
  for (const auto& entry : pairs) {
    const int64_t outputs = entry.second[0];
    cases.push_back({"linear",
                     fmt::format("{} {}", entry.first, entry.second),
                     {{entry.first}, {entry.second}},
                     [](const Inputs& in) { return linear(in[0], in[1]); },
                     [](const Inputs& in) { return reference::linear(in[0], in[1]); }});
    cases.push_back({"linear",
                     fmt::format("{} {} with bias", entry.first, entry.second),
                     {{entry.first}, {entry.second}, {{outputs}}},
                     [](const Inputs& in) { return linear(in[0], in[1], in[2]); },
                     [](const Inputs& in) { return reference::linear(in[0], in[1], in[2]); }});
  }
}

}  // namespace

void add_product_cases(std::vector<OpCase>& cases) {
  add_matmuls(cases);
  add_einsums(cases);
  add_linears(cases);
}

}  // namespace tapir
