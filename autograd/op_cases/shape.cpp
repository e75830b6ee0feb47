#include "autograd/op_cases.h"

namespace tapir {
namespace {

using Inputs = std::vector<Tensor>;

// Views followed by a product with distinct weights would hide nothing; the loss weights of the
// checks are random already, so a plain view is enough.
void add_views(std::vector<OpCase>& cases) {
  cases.push_back({"reshape", "[3, 4] to [2, 6]", {{{3, 4}}}, [](const Inputs& in) {
                     return reshape(in[0], {2, 6});
                   }});
  cases.push_back({"reshape", "of a transpose", {{{3, 4}}}, [](const Inputs& in) {
                     return reshape(transpose(in[0]), {-1});
                   }});
  cases.push_back({"reshape", "[0, 3] to [3, 0]", {{{0, 3}}}, [](const Inputs& in) {
                     return reshape(in[0], {3, 0});
                   }});
  cases.push_back(
      {"reshape", "[1] to []", {{{1}}}, [](const Inputs& in) { return reshape(in[0], {}); }});
  cases.push_back({"view", "merging axes of a permute", {{{2, 3, 4}}}, [](const Inputs& in) {
                     return view(permute(contiguous(in[0]), {1, 2, 0}), {12, 2});
                   }});
  cases.push_back({"transpose", "[2, 3, 5]", {{{2, 3, 5}}}, [](const Inputs& in) {
                     return transpose(in[0], 0, 2);
                   }});
  cases.push_back({"permute", "[2, 3, 5, 1]", {{{2, 3, 5, 1}}}, [](const Inputs& in) {
                     return permute(in[0], {2, 0, 3, -3});
                   }});
  cases.push_back({"expand",
                   "[3, 1] to [2, 3, 4]",
                   {{{3, 1}}},
                   [](const Inputs& in) {
                     return expand(in[0], {2, 3, 4});
                   },
                   [](const Inputs& in) {
                     return in[0] + Tensor::zeros({2, 3, 4}, in[0].dtype(), in[0].device());
                   }});
  cases.push_back(
      {"expand", "[1] to [0]", {{{1}}}, [](const Inputs& in) { return expand(in[0], {0}); }});
  cases.push_back({"sum_to",
                   "[2, 3, 4] to [3, 1]",
                   {{{2, 3, 4}}},
                   [](const Inputs& in) {
                     return sum_to(in[0], {3, 1});
                   },
                   [](const Inputs& in) {
                     return reshape(sum(in[0], {0, 2}), {3, 1});
                   }});
  cases.push_back(
      {"squeeze", "[3, 1, 2]", {{{3, 1, 2}}}, [](const Inputs& in) { return squeeze(in[0], 1); }});
  cases.push_back(
      {"unsqueeze", "[3, 2]", {{{3, 2}}}, [](const Inputs& in) { return unsqueeze(in[0], -1); }});
  cases.push_back({"slice", "x[:, 1:8:3]", {{{3, 9}}}, [](const Inputs& in) {
                     return slice(in[0], 1, 1, 8, 3);
                   }});
  cases.push_back(
      {"slice", "x[-2:]", {{{5, 2}}}, [](const Inputs& in) { return slice(in[0], 0, -2, 5); }});
  cases.push_back(
      {"slice", "of nothing", {{{4}}}, [](const Inputs& in) { return slice(in[0], 0, 3, 2); }});
  cases.push_back(
      {"select", "row 2", {{{4, 3}}}, [](const Inputs& in) { return select(in[0], 0, 2); }});
}

void add_joins(std::vector<OpCase>& cases) {
  cases.push_back(
      {"cat", "[2, 3] [2, 1] [2, 0]", {{{2, 3}}, {{2, 1}}, {{2, 0}}}, [](const Inputs& in) {
         return cat({in[0], in[1], in[2]}, 1);
       }});
  cases.push_back({"cat", "a tensor with itself", {{{2, 3}}}, [](const Inputs& in) {
                     return cat({in[0], in[0]}, 0);
                   }});
  cases.push_back({"stack", "[2, 3] twice", {{{2, 3}}, {{2, 3}}}, [](const Inputs& in) {
                     return stack({in[0], in[1]}, 1);
                   }});
  cases.push_back({"split", "[7, 2] by 3", {{{7, 2}}}, [](const Inputs& in) {
                     const auto parts = split(in[0], 3, 0);
                     return sum(parts[0] * parts[1], {0}) * parts[2];
                   }});
  cases.push_back({"split_heads",
                   "[2, 3, 8] in 4",
                   {{{2, 3, 8}}},
                   [](const Inputs& in) { return split_heads(in[0], 4); },
                   [](const Inputs& in) {
                     return permute(reshape(in[0], {2, 3, 4, 2}), {0, 2, 1, 3});
                   }});
  cases.push_back({"merge_heads",
                   "[2, 4, 3, 2]",
                   {{{2, 4, 3, 2}}},
                   [](const Inputs& in) { return merge_heads(in[0]); },
                   [](const Inputs& in) {
                     return reshape(clone(permute(in[0], {0, 2, 1, 3})), {2, 3, 8});
                   }});
  for (int64_t diagonal : {-1, 0, 2}) {
    cases.push_back({"tril",
                     fmt::format("[3, 5] diagonal {}", diagonal),
                     {{{3, 5}}},
                     [diagonal](const Inputs& in) { return tril(in[0], diagonal); }});
  }
}

void add_copies(std::vector<OpCase>& cases) {
  cases.push_back({"clone", "of a transpose", {{{3, 4}}}, [](const Inputs& in) {
                     return clone(transpose(in[0]));
                   }});
  cases.push_back({"contiguous", "of a transpose", {{{3, 4}}}, [](const Inputs& in) {
                     return contiguous(transpose(in[0]));
                   }});
  cases.push_back({"to", "its own dtype and device", {{{3, 4}}}, [](const Inputs& in) {
                     return to(to(in[0], in[0].device()), in[0].dtype()) * 1.0;
                   }});
}

}  // namespace

void add_shape_cases(std::vector<OpCase>& cases) {
  add_views(cases);
  add_joins(cases);
  add_copies(cases);
}

}  // namespace tapir
