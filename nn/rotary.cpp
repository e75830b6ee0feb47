#include "nn/rotary.h"

#include <cmath>
#include <vector>

namespace tapir::nn {

RotaryEmbedding::RotaryEmbedding(int64_t head_dim, int64_t max_seq_len, double theta,
                                 RopeLayout layout, DType dtype, Device device)
    : head_dim_(head_dim), max_seq_len_(max_seq_len), theta_(theta), layout_(layout) {
  require(head_dim > 0 && head_dim % 2 == 0, "rope",
          "the head dimension is {}, must be even and positive: pairs are rotated", head_dim);
  require(max_seq_len > 0, "rope", "max_seq_len is {}, must be positive", max_seq_len);
  require(std::isfinite(theta) && theta > 0, "rope", "theta is {}, must be positive and finite",
          theta);
  make_buffers(dtype, device);
}

void RotaryEmbedding::make_buffers(DType dtype, Device device) {
  const int64_t pairs = head_dim_ / 2;
  std::vector<double> cosines, sines;
  cosines.reserve(static_cast<size_t>(max_seq_len_ * pairs));
  sines.reserve(cosines.capacity());
  for (int64_t position = 0; position < max_seq_len_; ++position) {
    for (int64_t pair = 0; pair < pairs; ++pair) {
      const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(head_dim_);
      const double angle = static_cast<double>(position) * std::pow(theta_, exponent);
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
  }
  const Shape shape{max_seq_len_, pairs};
  cos = Tensor::from(cosines, shape, accum_dtype(dtype), device);
  sin = Tensor::from(sines, shape, accum_dtype(dtype), device);
}

Tensor RotaryEmbedding::operator()(const Tensor& x, const Tensor& positions) const {
  const Scope scope = enter();
  require(x.rank() >= 2 && x.size(-1) == head_dim_, "rope", "x is {}, must be [..., T, {}]",
          x.shape(), head_dim_);
  if (positions.defined()) return rope(x, cos, sin, positions, layout_);
  const int64_t length = x.size(-2);
  require(length <= max_seq_len_, "rope", "{} positions exceed max_seq_len {}", length,
          max_seq_len_);
  return rope(x, cos, sin, Tensor::arange(length, DType::i32, x.device()), layout_);
}

void RotaryEmbedding::visit(Visitor& visitor) {
  visitor.buffer("cos", cos);
  visitor.buffer("sin", sin);
}

}  // namespace tapir::nn
