// Attention of 16-bit floats, head by head: what belongs to a head becomes f32 where it stays in
// the cache, and kernels for f32 do the rest.
#pragma once

#include "backends/cpu/attention.h"
#include "backends/cpu/f32_copy.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {

// The heads h, ..., h + count - 1 of sequence b of x [B, H, T, ...].
template <typename ViewType>
ViewType heads_of(ViewType x, int64_t b, int64_t h, int64_t count) {
  if (x.data == nullptr) return x;
  using Byte = std::conditional_t<std::is_same_v<ViewType, View>, char, const char>;
  const int64_t bytes = static_cast<int64_t>(size_of(x.dtype));
  x.data = static_cast<Byte*>(x.data) + (b * x.stride(0) + h * x.stride(1)) * bytes;
  x.shape[0] = 1;
  x.shape[1] = count;
  return x;
}

// Calls row(dense, strided, width) for each row of a dense x [1, H, T, D] and a strided one, whose
// last axis has the stride 1.
template <typename Row>
void for_each_row(const View& dense, const ConstView& strided, Row&& row) {
  const int64_t heads = strided.size(1), length = strided.size(2), width = strided.size(3);
  float* to = dense.as<float>();
  for (int64_t h = 0; h < heads; ++h) {
    for (int64_t t = 0; t < length; ++t, to += width)
      row(to, h * strided.stride(1) + t * strided.stride(2), width);
  }
}

// Heads as dense f32.
template <typename T>
class WideHeads : public F32Copy {
 public:
  explicit WideHeads(const ConstView& x) : F32Copy(x.shape) {
    for_each_row(view(), x, [from = x.as<T>()](float* to, int64_t offset, int64_t width) {
      const T* row = from + offset;
#pragma omp simd
      for (int64_t i = 0; i < width; ++i) to[i] = widen(row[i]);
    });
  }
};

// out = heads, rounded.
template <typename T>
void narrow_heads(const F32Copy& heads, const View& out) {
  for_each_row(heads.view(), out,
               [to = out.as<T>()](const float* from, int64_t offset, int64_t width) {
                 T* row = to + offset;
#pragma omp simd
                 for (int64_t i = 0; i < width; ++i) row[i] = narrow<T>(from[i]);
               });
}

// A head of keys and values with the queries that share it, as a problem of its own.
template <typename T>
class WideGroup {
 public:
  WideGroup(const AttentionShape& p, int64_t b, int64_t kv)
      : p_(p), b_(b), kv_(kv), q_(of_queries(p.q)), k_(of_keys(p.k)), v_(of_keys(p.v)) {}

  AttentionProblem<float> problem() const {
    return {q_.view(), k_.view(), v_.view(), of_queries(p_.mask), p_.options};
  }

  // The group's part of x [B, H, T, ...] and of x [B, KV, S, ...].
  template <typename ViewType>
  ViewType of_queries(ViewType x) const {
    return heads_of(x, b_, kv_ * p_.group(), p_.group());
  }
  template <typename ViewType>
  ViewType of_keys(ViewType x) const {
    return heads_of(x, b_, kv_, 1);
  }

 private:
  const AttentionShape& p_;
  int64_t b_, kv_;
  WideHeads<T> q_, k_, v_;
};

// Calls body(group) for the WideGroup of every head of keys and values. Where these are fewer than
// threads, the threads share in one after the other.
template <typename T, typename Body>
void for_each_wide_group(const AttentionShape& p, int64_t cost, Body&& body) {
  const int64_t count = p.batch * p.kv_heads;
  const auto call = [&](int64_t item) {
    body(WideGroup<T>(p, item / p.kv_heads, item % p.kv_heads));
  };
  if (count >= cpu::threads()) return cpu::parallel_for(count, cost, call);
  for (int64_t item = 0; item < count; ++item) call(item);
}

}  // namespace tapir::TAPIR_ISA
