#include <cmath>

#include "autograd/op_cases.h"
#include "autograd/reference.h"

namespace tapir {
namespace {

using Inputs = std::vector<Tensor>;

Tensor ints(const std::vector<int32_t>& values, const Shape& shape, const Tensor& like) {
  return to(Tensor::from(std::span<const int32_t>(values), shape), like.device());
}

// Ids 0, 3, 6, ... modulo `bound`, so that some repeat and some never appear.
Tensor some_ids(const Shape& shape, int64_t bound, const Tensor& like) {
  std::vector<int32_t> ids(static_cast<size_t>(numel(shape)));
  for (size_t i = 0; i < ids.size(); ++i)
    ids[i] = static_cast<int32_t>(i * 3 % static_cast<size_t>(bound));
  return ints(ids, shape, like);
}

void add_norms(std::vector<OpCase>& cases) {
  for (int64_t size : kOddSizes) {
    const Shape shape{3, size};
    // Of one element it is nearly a sign, too steep near zero for differences.
    const Values values = size == 1 ? Values::away_from_zero : Values::normal;
    cases.push_back({"rms_norm",
                     shape.to_string(),
                     {{shape, values}, {{size}}},
                     [](const Inputs& in) { return rms_norm(in[0], in[1]); },
                     [](const Inputs& in) { return reference::rms_norm(in[0], in[1]); }});
    cases.push_back({"layer_norm",
                     shape.to_string(),
                     {{shape}, {{size}}, {{size}}},
                     [](const Inputs& in) { return layer_norm(in[0], in[1], in[2]); },
                     [](const Inputs& in) { return reference::layer_norm(in[0], in[1], in[2]); }});
    // Of one element it is zero everywhere, and differences of zero see rounding only.
    if (size == 1) continue;
    cases.push_back(
        {"layer_norm",
         shape.to_string() + " without bias",
         {{shape}, {{size}}},
         [](const Inputs& in) { return layer_norm(in[0], in[1], Tensor()); },
         [](const Inputs& in) { return reference::layer_norm(in[0], in[1], Tensor()); }});
  }
  cases.push_back({"rms_norm",
                   "[2, 70, 5], eps 0.1",
                   {{{2, 70, 5}}, {{5}}},
                   [](const Inputs& in) { return rms_norm(in[0], in[1], 0.1); },
                   [](const Inputs& in) { return reference::rms_norm(in[0], in[1], 0.1); }});
  cases.push_back({"rms_norm", "[0, 5]", {{{0, 5}}, {{5}}}, [](const Inputs& in) {
                     return rms_norm(in[0], in[1]);
                   }});
  cases.push_back(
      {"layer_norm",
       "[2, 70, 5], eps 0.1",
       {{{2, 70, 5}}, {{5}}, {{5}}},
       [](const Inputs& in) { return layer_norm(in[0], in[1], in[2], 0.1); },
       [](const Inputs& in) { return reference::layer_norm(in[0], in[1], in[2], 0.1); }});
  cases.push_back({"layer_norm", "[0, 5]", {{{0, 5}}, {{5}}, {{5}}}, [](const Inputs& in) {
                     return layer_norm(in[0], in[1], in[2]);
                   }});
}

void add_losses(std::vector<OpCase>& cases) {
  for (int64_t size : kOddSizes) {
    cases.push_back(
        {"cross_entropy",
         fmt::format("[5, {}] mean", size),
         {{{5, size}}},
         [size](const Inputs& in) { return cross_entropy(in[0], some_ids({5}, size, in[0])); },
         [size](const Inputs& in) {
           return reference::cross_entropy(in[0], some_ids({5}, size, in[0]));
         }});
  }
  for (Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
    const auto targets = [](const Tensor& like) {
      return ints({2, -100, 0, 6, -100, 2}, {2, 3}, like);
    };
    cases.push_back(
        {"cross_entropy",
         fmt::format("[2, 3, 7], ignored targets, reduction {}", static_cast<int>(reduction)),
         {{{2, 3, 7}}},
         [=](const Inputs& in) { return cross_entropy(in[0], targets(in[0]), reduction); },
         [=](const Inputs& in) {
           return reference::cross_entropy(in[0], targets(in[0]), reduction);
         }});
  }
  cases.push_back({"cross_entropy", "[0, 7] sum", {{{0, 7}}}, [](const Inputs& in) {
                     return cross_entropy(in[0], some_ids({0}, 7, in[0]), Reduction::sum);
                   }});
}

// The angles of components: position * theta^(-2i/D), in the statistics dtype.
std::pair<Tensor, Tensor> tables(int64_t length, int64_t width, const Tensor& like) {
  std::vector<double> cosine, sine;
  for (int64_t position = 0; position < length; ++position) {
    for (int64_t i = 0; i < width / 2; ++i) {
      const double angle =
          static_cast<double>(position) *
          std::pow(100.0, -2.0 * static_cast<double>(i) / static_cast<double>(width));
      cosine.push_back(std::cos(angle));
      sine.push_back(std::sin(angle));
    }
  }
  const DType dtype = accum_dtype(like.dtype());
  return {to(Tensor::from(cosine, {length, width / 2}, dtype), like.device()),
          to(Tensor::from(sine, {length, width / 2}, dtype), like.device())};
}

void add_ropes(std::vector<OpCase>& cases) {
  for (RopeLayout layout : {RopeLayout::interleaved, RopeLayout::half_split}) {
    const std::string name = layout == RopeLayout::interleaved ? "interleaved" : "half split";
    const std::vector<std::pair<Shape, Shape>> shapes = {
        {{5, 8}, {5}},          {{2, 5, 2}, {5}},       {{2, 3, 5, 6}, {5}},
        {{2, 3, 5, 6}, {2, 5}}, {{2, 3, 33, 32}, {33}}, {{1, 1, 0, 4}, {0}}};
    for (const auto& entry : shapes) {
      const Shape positions = entry.second;
      const auto apply = [positions, layout](const Tensor& x, auto function) {
        const auto table = tables(40, x.size(-1), x);
        return function(x, table.first, table.second, some_ids(positions, 40, x), layout);
      };
      cases.push_back({"rope",
                       fmt::format("{} {} positions {}", name, entry.first, positions),
                       {{entry.first}},
                       [apply](const Inputs& in) { return apply(in[0], rope); },
                       [apply](const Inputs& in) {
                         // The reference multiplies by 16-bit tables where the kernel has f32 ones.
                         if (in[0].dtype() != accum_dtype(in[0].dtype())) {
                           return to(apply(to(in[0], DType::f32), reference::rope), in[0].dtype());
                         }
                         return apply(in[0], reference::rope);
                       }});
    }
  }
}

}  // namespace

void add_fused_cases(std::vector<OpCase>& cases) {
  add_norms(cases);
  add_losses(cases);
  add_ropes(cases);
  for (const auto& [v, c, ids] : std::vector<std::tuple<int64_t, int64_t, Shape>>{
           {5, 7, {4}}, {33, 32, {2, 7}}, {3, 129, {}}, {4, 3, {0}}, {1, 1, {1}}}) {
    const int64_t vocabulary = v;
    const Shape shape = ids;
    cases.push_back(
        {"embedding",
         fmt::format("[{}, {}] ids {}", v, c, ids),
         {{{v, c}}},
         [=](const Inputs& in) { return embedding(in[0], some_ids(shape, vocabulary, in[0])); },
         [=](const Inputs& in) {
           return reference::embedding(in[0], some_ids(shape, vocabulary, in[0]));
         }});
  }
  for (int64_t size : {0, 1, 7, 31, 32, 33, 129}) {
    cases.push_back({"swiglu",
                     fmt::format("[2, {}]", size),
                     {{{2, size}}, {{2, size}}},
                     [](const Inputs& in) { return swiglu(in[0], in[1]); },
                     [](const Inputs& in) { return reference::swiglu(in[0], in[1]); }});
  }
  cases.push_back({"dropout", "[4, 33], p 0.3", {{{4, 33}}}, [](const Inputs& in) {
                     Generator generator(3);
                     return dropout(in[0], 0.3, generator);
                   }});
  cases.push_back({"checkpoint",
                   "of a small network",
                   {{{3, 4}}, {{5, 4}}},
                   [](const Inputs& in) {
                     return checkpoint(
                         [](const Inputs& inner) { return gelu(linear(inner[0], inner[1])); },
                         {in[0], in[1]});
                   },
                   [](const Inputs& in) { return gelu(linear(in[0], in[1])); }});
}

}  // namespace tapir
