// Keys and values of the positions that a model has already seen, for decoding.
#pragma once

#include <utility>
#include <vector>

#include "autograd/tensor.h"

namespace tapir::nn {

struct KvCacheConfig {
  int64_t layers = 0;
  int64_t batch = 0;
  int64_t kv_heads = 0;
  int64_t capacity = 0;  // positions
  int64_t head_dim = 0;
};

// Per layer, keys and values [B, Hkv, capacity, D], allocated once. The number of positions is
// kept once for all layers: each layer appends, then the model advances. A forward pass that
// fails half way therefore leaves the cache as it was.
class KvCache {
 public:
  explicit KvCache(const KvCacheConfig& config, DType dtype = DType::f32, Device device = kCpu);

  int64_t length() const { return length_; }  // positions held
  int64_t capacity() const { return config_.capacity; }
  int64_t batch() const { return config_.batch; }

  // Writes k, v [B, Hkv, T, D] behind the positions held and returns views of all of them,
  // [B, Hkv, length() + T, D]. Not differentiable: an
  // Error while a tape records. Other shapes, or more positions than the capacity, are one too.
  std::pair<Tensor, Tensor> append(int64_t layer, const Tensor& k, const Tensor& v);
  // Counts `count` appended positions as held.
  void advance(int64_t count);
  void clear() { length_ = 0; }

  // All of a layer's memory, [B, Hkv, capacity, D], for kernels that write there themselves.
  const Tensor& keys(size_t layer) const { return keys_[layer]; }
  const Tensor& values(size_t layer) const { return values_[layer]; }

 private:
  KvCacheConfig config_;
  int64_t length_ = 0;
  std::vector<Tensor> keys_, values_;
};

}  // namespace tapir::nn
