// Attention with an online softmax for every dtype, size and mask: a block has a tile of queries of
// a head and goes through the keys and values tile by tile. Source: Dao et al. 2022,
// "FlashAttention".
#include "backends/cuda/attention.h"
#include "backends/cuda/attention_operands.h"
#include "backends/cuda/device.h"
#include "backends/cuda/squares.h"

namespace tapir::cuda {
namespace {

// Turns the products of one query with keys from `first_key` on into weights relative to the
// largest score so far, and multiplies what was summed before by how much it shrinks.
template <typename T>
__device__ void weigh_keys(const AttentionOperands<T>& in, int64_t b, int64_t h, int64_t t,
                           int64_t first_key, Accum<T> (&scores)[kSquareSize<Accum<T>>],
                           Accum<T> (&sums)[kSquareSize<Accum<T>>], Accum<T>& largest,
                           Accum<T>& total) {
  using A = Accum<T>;
  const int64_t visible = t < in.shape.queries ? in.shape.visible(t) : 0;
  A highest = largest;
  TAPIR_UNROLL
  for (int j = 0; j < kSquareSize<A>; ++j) {
    const int64_t s = first_key + square_column<A>(j);
    const bool seen = s < visible && in.mask.keeps(b, h, t, s);
    scores[j] = seen ? in.shape.scale * scores[j] : -infinity<A>();
    highest = Largest()(highest, scores[j]);
  }
  highest = reduce_along_row(highest, Largest());
  const A base = highest == -infinity<A>() ? A(0) : highest;  // no key seen yet
  const A shrink = fast_exp(largest - base);
  A weight = 0;
  TAPIR_UNROLL
  for (int j = 0; j < kSquareSize<A>; ++j) {
    scores[j] = fast_exp(scores[j] - base);
    weight += scores[j];
    sums[j] *= shrink;
  }
  total = total * shrink + reduce_along_row(weight, Plus());
  largest = highest;
}

// For two blocks on a multiprocessor, which leaves a thread 128 registers: without that, ptxas aims
// at more blocks for f64 on sm_90 and spills.
template <typename T>
__global__ void __launch_bounds__(kSquareThreads, 2)
    attention_kernel(AttentionOperands<T> in, T* out, Accum<T>* lse) {
  using A = Accum<T>;
  constexpr int kTile = kSquareTile<A>, kSize = kSquareSize<A>;
  TAPIR_SHARED(SquareBuffers<A>, shared, [1]);
  const auto& shape = in.shape;
  const HeadTile at(shape.queries, kTile);
  const int64_t b = at.head / shape.heads, h = at.head % shape.heads, kh = shape.key_head(h);
  const Matrix<T> queries = in.queries(b, h), keys = in.keys(b, kh), values = in.values(b, kh);
  const int64_t end = shape.visible(std::min(at.first + kTile, shape.queries) - 1);
  for (int64_t column = 0; column == 0 || column < shape.value_width; column += kTile) {
    Square<A> sums = {}, scores;
    A largest[kSize], total[kSize];
    TAPIR_UNROLL
    for (int i = 0; i < kSize; ++i) {
      largest[i] = -infinity<A>();
      total[i] = 0;
    }
    for (int64_t key = 0; key < end; key += kTile) {
      multiply_rows(queries, at.first, keys, key, shared[0], scores);
      TAPIR_UNROLL
      for (int i = 0; i < kSize; ++i) {
        weigh_keys(in, b, h, at.first + square_row<A>(i), key, scores[i], sums[i], largest[i],
                   total[i]);
      }
      add_weighted_rows(scores, values, key, column, shared[0], sums);
    }
    TAPIR_UNROLL
    for (int i = 0; i < kSize; ++i) {
      const int64_t t = at.first + square_row<A>(i);
      const A factor = total[i] == 0 ? A(0) : A(1) / total[i];
      TAPIR_UNROLL
      for (int j = 0; j < kSize; ++j) sums[i][j] *= factor;
      if (t < shape.queries && square_column<A>(0) == 0)
        lse[at.head * shape.queries + t] =
            total[i] == 0 ? -infinity<A>() : largest[i] + std::log(total[i]);
    }
    store_square(sums, at.first, column, shape.queries, shape.value_width,
                 out + at.head * shape.queries * shape.value_width);
  }
}

}  // namespace

void CudaBackend::attention(ConstView q, ConstView k, ConstView v, ConstView mask,
                            const AttentionOptions& options, View out, View lse) const {
  if (lse.numel() == 0) return;
  if (mask.data == nullptr && tensor_core_attention(q, k, v, options, out, lse)) return;
  dispatch_floating(q.dtype, "attention", [&]<typename T>() {
    using A = Accum<T>;
    const AttentionOperands<T> in(q, k, v, mask, options);
    launch(attention_kernel<T>, squares_for<A>(q.size(2), q.size(0) * q.size(1)), in, out.as<T>(),
           lse.as<A>());
  });
}

}  // namespace tapir::cuda
