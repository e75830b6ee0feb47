// Random tensors, dropout and sampling. All numbers come from the caller's Generator.
#include <algorithm>
#include <cmath>

#include "autograd/ops.h"

namespace tapir {
namespace {

Tensor draw(std::string_view op, RandomKind kind, const Shape& shape, double bound,
            Generator& generator, DType dtype, Device device) {
  require(is_floating(dtype), op, "needs a floating dtype, got {}", dtype);
  Tensor out = Tensor::empty(shape, dtype, device);
  const uint64_t offset = generator.reserve(static_cast<uint64_t>(out.numel()));
  out.backend().random(kind, generator.seed(), offset, bound, out.view());
  return out;
}

// One row of cumulative weights -> the index that the uniform number u in [0, 1) falls on: the
// first whose sum exceeds u times the total. Where rounding makes that product the total itself,
// the first that reaches the total; its weight is not zero either.
int32_t index_of(const std::vector<double>& cumulative, double u) {
  auto found = std::upper_bound(cumulative.begin(), cumulative.end(), u * cumulative.back());
  if (found == cumulative.end()) {
    found = std::lower_bound(cumulative.begin(), cumulative.end(), cumulative.back());
  }
  return static_cast<int32_t>(found - cumulative.begin());
}

}  // namespace

Tensor rand(const Shape& shape, Generator& generator, DType dtype, Device device) {
  return draw("rand", RandomKind::uniform, shape, 0, generator, dtype, device);
}

Tensor randn(const Shape& shape, Generator& generator, DType dtype, Device device) {
  return draw("randn", RandomKind::normal, shape, 0, generator, dtype, device);
}

Tensor trunc_normal(const Shape& shape, double std, double bound, Generator& generator, DType dtype,
                    Device device) {
  require(std >= 0 && std::isfinite(std) && bound > 0, "trunc_normal",
          "std {} must not be negative and bound {} must be positive", std, bound);
  NoGrad pause;
  return draw("trunc_normal", RandomKind::truncated_normal, shape, bound, generator, dtype,
              device) *
         std;
}

Tensor dropout(const Tensor& x, double p, Generator& generator) {
  require(p >= 0 && p <= 1, "dropout", "probability {} is outside [0, 1]", p);
  require_floating("dropout", x);
  if (p == 0) return x;
  const uint64_t seed = generator.seed();
  const uint64_t offset = generator.reserve(static_cast<uint64_t>(x.numel()));
  const auto apply = [=](const Tensor& y) {
    const Tensor dense = contiguous(y);
    Tensor out = Tensor::empty_like(dense);
    y.backend().dropout(dense.view(), p, seed, offset, out.view());
    return out;
  };
  const Tensor dense = contiguous(x);
  return record("dropout", apply(detach(dense)), {dense},
                [apply](const Tensor& grad) { return std::vector{apply(grad)}; });
}

Tensor multinomial(const Tensor& probabilities, int64_t count, Generator& generator) {
  require_floating("multinomial", probabilities);
  require(probabilities.rank() >= 1 && probabilities.size(-1) > 0, "multinomial",
          "needs [..., V] with V > 0, got {}", probabilities.shape());
  require(count >= 0, "multinomial", "count is {}, must not be negative", count);
  const std::vector<double> values = probabilities.to_vector();
  const auto classes = static_cast<size_t>(probabilities.size(-1));
  std::vector<int32_t> drawn;
  std::vector<double> cumulative(classes);
  for (size_t row = 0; row < values.size() / classes; ++row) {
    double total = 0;
    for (size_t i = 0; i < classes; ++i) {
      const double value = values[row * classes + i];
      require(std::isfinite(value) && value >= 0, "multinomial",
              "probability {} of row {} is {}; need finite values >= 0", i, row, value);
      cumulative[i] = total += value;
    }
    require(total > 0, "multinomial", "all probabilities of row {} are zero", row);
    require(std::isfinite(total), "multinomial", "the probabilities of row {} add up to {}", row,
            total);
    for (int64_t i = 0; i < count; ++i) drawn.push_back(index_of(cumulative, generator.uniform()));
  }
  Shape shape = probabilities.shape();
  shape[shape.rank() - 1] = count;
  return to(Tensor::from(std::span<const int32_t>(drawn), shape), probabilities.device());
}

}  // namespace tapir
