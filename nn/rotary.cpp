#include "nn/rotary.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <vector>

namespace tapir::nn {
namespace {

// What a pair of tables depends on.
struct TableKey {
  int64_t head_dim = 0, max_seq_len = 0;
  double theta = 0;
  RopeScaling scaling;
  DType dtype = DType::f32;
  Device device = kCpu;
  bool operator==(const TableKey&) const = default;
};

struct Tables {
  Tensor cos, sin;
};

Tables compute_tables(const TableKey& key) {
  const int64_t pairs = key.head_dim / 2;
  std::vector<double> frequencies;
  for (int64_t pair = 0; pair < pairs; ++pair) {
    const double exponent = -2.0 * static_cast<double>(pair) / static_cast<double>(key.head_dim);
    const double frequency = std::pow(key.theta, exponent);
    frequencies.push_back(frequency / frequency_divisor(frequency, key.scaling));
  }
  std::vector<double> cosines, sines;
  cosines.reserve(static_cast<size_t>(key.max_seq_len * pairs));
  sines.reserve(cosines.capacity());
  for (int64_t position = 0; position < key.max_seq_len; ++position) {
    for (const double frequency : frequencies) {
      const double angle = static_cast<double>(position) * frequency;
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
  }
  const Shape shape{key.max_seq_len, pairs};
  return {Tensor::from(cosines, shape, key.dtype, key.device),
          Tensor::from(sines, shape, key.dtype, key.device)};
}

// The tables of that key, computed unless some layer has them already: the layers of a model all
// need the same, and with a long context they are large.
Tables shared_tables(const TableKey& key) {
  struct Known {
    TableKey key;
    std::weak_ptr<TensorImpl> cos, sin;
  };
  static std::mutex mutex;
  static std::vector<Known> list;
  const std::lock_guard lock(mutex);
  std::erase_if(list,
                [](const Known& known) { return known.cos.expired() || known.sin.expired(); });
  for (const Known& known : list) {
    if (known.key == key) return {Tensor(known.cos.lock()), Tensor(known.sin.lock())};
  }
  const Tables tables = compute_tables(key);
  list.push_back({key, tables.cos.impl(), tables.sin.impl()});
  return tables;
}

}  // namespace

RotaryEmbedding::RotaryEmbedding(int64_t head_dim, int64_t max_seq_len, double theta,
                                 RopeLayout layout, DType dtype, Device device,
                                 const RopeScaling& scaling)
    : head_dim_(head_dim),
      max_seq_len_(max_seq_len),
      theta_(theta),
      layout_(layout),
      scaling_(scaling) {
  require(head_dim > 0 && head_dim % 2 == 0, "rope",
          "the head dimension is {}, must be even and positive: pairs are rotated", head_dim);
  require(max_seq_len > 0, "rope", "max_seq_len is {}, must be positive", max_seq_len);
  require(std::isfinite(theta) && theta > 0, "rope", "theta is {}, must be positive and finite",
          theta);
  scaling.validate();
  make_buffers(dtype, device);
}

void RotaryEmbedding::make_buffers(DType dtype, Device device) {
  const Tables tables =
      shared_tables({head_dim_, max_seq_len_, theta_, scaling_, accum_dtype(dtype), device});
  cos = tables.cos;
  sin = tables.sin;
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
