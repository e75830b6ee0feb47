// Rotary position embedding. A rotation's gradient is the rotation back, so nothing is saved but
// the tables.
#include "autograd/ops.h"
#include "autograd/reference.h"

namespace tapir {

Tensor rope(const Tensor& x, const Tensor& cos, const Tensor& sin, const Tensor& positions,
            RopeLayout layout) {
  require_floating("rope", x);
  require(x.rank() >= 2 && x.rank() <= 4, "rope",
          "x must be [T, D], [B, T, D] or [B, H, T, D], got {}", x.shape());
  const int64_t time = x.size(-2), width = x.size(-1), batch = x.rank() == 2 ? 1 : x.size(0);
  require(width % 2 == 0, "rope", "the head size {} of x {} is odd; pairs are rotated", width,
          x.shape());
  require(cos.rank() == 2 && cos.size(1) == width / 2 && cos.shape() == sin.shape(), "rope",
          "the tables are {} and {} but x is {}; they must be [max_seq_len, {}]", cos.shape(),
          sin.shape(), x.shape(), width / 2);
  require(cos.dtype() == accum_dtype(x.dtype()) && sin.dtype() == cos.dtype(), "rope",
          "the tables are {} but for x of {} they must be {}", cos.dtype(), x.dtype(),
          accum_dtype(x.dtype()));
  for (const Tensor& other : {cos, sin, positions}) require_same_device("rope", x, other);
  require(positions.dtype() == DType::i32, "rope", "positions must be i32, got {}",
          positions.dtype());
  require(positions.shape() == Shape{time} || (positions.shape() == Shape{batch, time}), "rope",
          "positions are {} but x is {}; they must be [{}] or [{}, {}]", positions.shape(),
          x.shape(), time, batch, time);
  const Tensor at = contiguous(expand(positions, {batch, time}));
  const int64_t bad = find_out_of_range(positions, cos.size(0));
  require(bad < 0, "rope", "position {} is outside [0, {}); max_seq_len is {}",
          bad < 0 ? 0 : positions.to_ints()[static_cast<size_t>(bad)], cos.size(0), cos.size(0));
  if (reference::Composed::enabled()) return reference::rope(x, cos, sin, positions, layout);
  const Tensor c = contiguous(cos), s = contiguous(sin);
  const Shape four{batch, x.rank() == 4 ? x.size(1) : 1, time, width};
  const Tensor in = reshape(x, four);
  const auto rotate = [=](const Tensor& y, bool inverse) {
    Tensor out = Tensor::empty_like(y);
    y.backend().rope(y.view(), c.view(), s.view(), at.view(), layout, inverse, out.view());
    return out;
  };
  Tensor out = record("rope", rotate(in, false), {in},
                      [rotate](const Tensor& grad) { return std::vector{rotate(grad, true)}; });
  return reshape(out, x.shape());
}

}  // namespace tapir
