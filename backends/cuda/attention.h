// What the attention kernels share: sizes, strides, and who sees whom.
#pragma once

#include "backends/cuda/device.h"

namespace tapir::cuda {

// Steps of a view [B, H, T, D] whose last axis is dense.
struct HeadSteps {
  int64_t batch, head, row;

  explicit HeadSteps(ConstView x) : batch(x.stride(0)), head(x.stride(1)), row(x.stride(2)) {}

  __device__ int64_t at(int64_t b, int64_t h) const { return b * batch + h * head; }
};

// Scores are multiplied by `scale` in A, the type that they are summed in.
template <typename A>
struct AttentionShape {
  int64_t batch, heads, key_heads, queries, keys, width, value_width;
  A scale;
  bool causal;

  AttentionShape(ConstView q, ConstView k, ConstView v, const AttentionOptions& options)
      : batch(q.size(0)),
        heads(q.size(1)),
        key_heads(k.size(1)),
        queries(q.size(2)),
        keys(k.size(2)),
        width(q.size(3)),
        value_width(v.size(3)),
        scale(static_cast<A>(options.scale)),
        causal(options.causal) {}

  __device__ int64_t key_head(int64_t head) const { return head / (heads / key_heads); }
  // Query t sees keys [0, visible(t)); from the first query that sees it, every later one sees key
  // s.
  __device__ int64_t visible(int64_t t) const {
    const int64_t end = t + 1 + keys - queries;
    return causal ? (end < 0 ? 0 : end) : keys;
  }
  __device__ int64_t first_query(int64_t s) const {
    const int64_t first = s - (keys - queries);
    return causal && first > 0 ? first : 0;
  }
};

// A mask [B, H, T, S], true = keep; no data keeps everything.
struct Mask {
  const uint8_t* data;
  int64_t batch = 0, head = 0, query = 0, key = 0;

  explicit Mask(ConstView mask) : data(mask.as<uint8_t>()) {
    if (data == nullptr) return;
    batch = mask.stride(0);
    head = mask.stride(1);
    query = mask.stride(2);
    key = mask.stride(3);
  }

  __device__ bool keeps(int64_t b, int64_t h, int64_t t, int64_t s) const {
    return data == nullptr || data[b * batch + h * head + t * query + s * key] != 0;
  }
};

// The kernels on tensor cores, for 16-bit floats and the sizes that they are made for, without a
// mask. They return false, and have done nothing, when the views do not fit. delta [B, H, T] is
// the sum of grad * out over each row.
bool tensor_core_attention(ConstView q, ConstView k, ConstView v, const AttentionOptions& options,
                           View out, View lse);
bool tensor_core_attention_backward(ConstView grad, ConstView q, ConstView k, ConstView v,
                                    ConstView lse, const float* delta,
                                    const AttentionOptions& options, View dq, View dk, View dv);

}  // namespace tapir::cuda
