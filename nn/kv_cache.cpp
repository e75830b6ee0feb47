#include "nn/kv_cache.h"

#include "autograd/ops.h"

namespace tapir::nn {

KvCache::KvCache(const KvCacheConfig& config, DType dtype, Device device) : config_(config) {
  require(config.layers > 0 && config.batch > 0 && config.kv_heads > 0 && config.capacity > 0 &&
              config.head_dim > 0,
          "kv_cache",
          "every size must be positive, got {} layers, batch {}, {} heads, capacity {}, width {}",
          config.layers, config.batch, config.kv_heads, config.capacity, config.head_dim);
  const Shape shape{config.batch, config.kv_heads, config.capacity, config.head_dim};
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    keys_.push_back(Tensor::zeros(shape, dtype, device));
    values_.push_back(Tensor::zeros(shape, dtype, device));
  }
}

std::pair<Tensor, Tensor> KvCache::append(int64_t layer, const Tensor& k, const Tensor& v) {
  require(!Tape::recording(), "kv_cache",
          "has no gradient; use it outside of a tape, or train without it");
  require(layer >= 0 && layer < config_.layers, "kv_cache", "has {} layers, asked for layer {}",
          config_.layers, layer);
  require(k.rank() == 4 && k.shape() == v.shape() && k.size(0) == config_.batch &&
              k.size(1) == config_.kv_heads && k.size(3) == config_.head_dim,
          "kv_cache", "k is {} and v is {}, both must be [{}, {}, T, {}]", k.shape(), v.shape(),
          config_.batch, config_.kv_heads, config_.head_dim);
  const int64_t end = length_ + k.size(2);
  require(end <= config_.capacity, "kv_cache", "{} new positions behind {} exceed the capacity {}",
          k.size(2), length_, config_.capacity);
  const auto index = static_cast<size_t>(layer);
  slice(keys_[index], 2, length_, end).copy_(k);
  slice(values_[index], 2, length_, end).copy_(v);
  return {slice(keys_[index], 2, 0, end), slice(values_[index], 2, 0, end)};
}

void KvCache::advance(int64_t count) {
  require(count >= 0 && length_ + count <= config_.capacity, "kv_cache",
          "cannot advance by {} from {} with capacity {}", count, length_, config_.capacity);
  length_ += count;
}

}  // namespace tapir::nn
