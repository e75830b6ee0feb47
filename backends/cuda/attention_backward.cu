// The gradients of attention for every dtype, size and mask. One kernel has a block per tile of
// queries and sums dq over keys, the other a block per tile of keys and sums dk and dv over
// queries, so nothing is added by two blocks. Both compute the probabilities again from the saved
// log-sum-exp. Source: Dao 2023, "FlashAttention-2".
#include "backends/cuda/attention.h"
#include "backends/cuda/attention_operands.h"
#include "backends/cuda/device.h"
#include "backends/cuda/squares.h"

namespace tapir::cuda {
namespace {

// delta = the sum of grad * out over each row: a warp per row.
template <typename T>
__global__ void attention_delta_kernel(HeadSteps grad_steps, HeadSteps out_steps, const T* grad,
                                       const T* out, int64_t heads, int64_t queries, int64_t width,
                                       int64_t rows, Accum<T>* delta) {
  const int64_t item = warp_item();
  if (item >= rows) return;
  const int64_t t = item % queries, h = item / queries % heads, b = item / queries / heads;
  const T* g = grad + grad_steps.at(b, h) + t * grad_steps.row;
  const T* o = out + out_steps.at(b, h) + t * out_steps.row;
  Accum<T> sum = 0;
  for (int64_t i = lane_index(); i < width; i += kWarp) sum += widen(g[i]) * widen(o[i]);
  sum = warp_sum(sum);
  if (lane_index() == 0) delta[item] = sum;
}

template <typename T>
struct BackwardInputs : AttentionOperands<T> {
  using AttentionOperands<T>::mask, AttentionOperands<T>::shape;
  HeadSteps grad_steps;
  const T* grad;
  const Accum<T>* lse;
  const Accum<T>* delta;

  BackwardInputs(const AttentionOperands<T>& operands, ConstView grad_view, ConstView lse_view,
                 const Accum<T>* delta_rows)
      : AttentionOperands<T>(operands),
        grad_steps(grad_view),
        grad(grad_view.as<T>()),
        lse(lse_view.as<Accum<T>>()),
        delta(delta_rows) {}

  __device__ Matrix<T> grads(int64_t b, int64_t h) const {
    return {grad + grad_steps.at(b, h), grad_steps.row, shape.queries, shape.value_width};
  }

  // Turns the product of query t and key s into the pair's probability, and that of grad and value
  // into the gradient of the score. Pairs that do not exist have none.
  __device__ void weigh_pair(int64_t b, int64_t h, int64_t t, int64_t s, Accum<T>& score,
                             Accum<T>& gradient) const {
    using A = Accum<T>;
    A probability = 0, of_score = 0;
    if (t < shape.queries && s < shape.visible(t) && mask.keeps(b, h, t, s)) {
      const int64_t row = (b * shape.heads + h) * shape.queries + t;
      if (lse[row] != -infinity<A>()) {
        probability = fast_exp(shape.scale * score - lse[row]);
        of_score = shape.scale * probability * (gradient - delta[row]);
      }
    }
    score = probability;
    gradient = of_score;
  }
};

template <typename T>
__global__ void __launch_bounds__(kSquareThreads) attention_dq_kernel(BackwardInputs<T> in, T* dq) {
  using A = Accum<T>;
  constexpr int kTile = kSquareTile<A>, kSize = kSquareSize<A>;
  TAPIR_SHARED(SquareBuffers<A>, shared, [1]);
  const auto& shape = in.shape;
  const HeadTile at(shape.queries, kTile);
  const int64_t b = at.head / shape.heads, h = at.head % shape.heads, kh = shape.key_head(h);
  const int64_t end = shape.visible(std::min(at.first + kTile, shape.queries) - 1);
  for (int64_t column = 0; column < shape.width; column += kTile) {
    Square<A> sums = {}, scores, gradients;
    for (int64_t key = 0; key < end; key += kTile) {
      multiply_rows(in.queries(b, h), at.first, in.keys(b, kh), key, shared[0], scores);
      multiply_rows(in.grads(b, h), at.first, in.values(b, kh), key, shared[0], gradients);
      TAPIR_UNROLL
      for (int i = 0; i < kSize; ++i) {
        TAPIR_UNROLL
        for (int j = 0; j < kSize; ++j) {
          in.weigh_pair(b, h, at.first + square_row<A>(i), key + square_column<A>(j), scores[i][j],
                        gradients[i][j]);
        }
      }
      add_weighted_rows(gradients, in.keys(b, kh), key, column, shared[0], sums);
    }
    store_square(sums, at.first, column, shape.queries, shape.width,
                 dq + at.head * shape.queries * shape.width);
  }
}

// The rows of the tile are keys here, and its columns the queries of all heads that share them.
template <typename T>
__global__ void __launch_bounds__(kSquareThreads)
    attention_dkv_kernel(BackwardInputs<T> in, T* dk, T* dv) {
  using A = Accum<T>;
  constexpr int kTile = kSquareTile<A>, kSize = kSquareSize<A>;
  TAPIR_SHARED(SquareBuffers<A>, shared, [1]);
  const auto& shape = in.shape;
  const HeadTile at(shape.keys, kTile);
  const int64_t b = at.head / shape.key_heads, kh = at.head % shape.key_heads;
  const int64_t group = shape.heads / shape.key_heads;
  const int64_t start = shape.first_query(at.first) / kTile * kTile;
  for (int64_t column = 0; column < std::max(shape.width, shape.value_width); column += kTile) {
    Square<A> key_sums = {}, value_sums = {}, scores, gradients;
    for (int64_t h = kh * group; h < (kh + 1) * group; ++h) {
      for (int64_t query = start; query < shape.queries; query += kTile) {
        multiply_rows(in.keys(b, kh), at.first, in.queries(b, h), query, shared[0], scores);
        multiply_rows(in.values(b, kh), at.first, in.grads(b, h), query, shared[0], gradients);
        TAPIR_UNROLL
        for (int i = 0; i < kSize; ++i) {
          TAPIR_UNROLL
          for (int j = 0; j < kSize; ++j) {
            in.weigh_pair(b, h, query + square_column<A>(j), at.first + square_row<A>(i),
                          scores[i][j], gradients[i][j]);
          }
        }
        add_weighted_rows(scores, in.grads(b, h), query, column, shared[0], value_sums);
        add_weighted_rows(gradients, in.queries(b, h), query, column, shared[0], key_sums);
      }
    }
    store_square(key_sums, at.first, column, shape.keys, shape.width,
                 dk + at.head * shape.keys * shape.width);
    store_square(value_sums, at.first, column, shape.keys, shape.value_width,
                 dv + at.head * shape.keys * shape.value_width);
  }
}

}  // namespace

void CudaBackend::attention_backward(ConstView grad, ConstView q, ConstView k, ConstView v,
                                     ConstView mask, ConstView out, ConstView lse,
                                     const AttentionOptions& options, View dq, View dk,
                                     View dv) const {
  const int64_t rows = lse.numel();
  dispatch_floating(q.dtype, "attention_backward", [&]<typename T>() {
    using A = Accum<T>;
    const AttentionOperands<T> operands(q, k, v, mask, options);
    const AttentionShape<A>& shape = operands.shape;
    const Scratch scratch(static_cast<size_t>(rows) * sizeof(A));
    A* delta = scratch.as<A>();
    const BackwardInputs<T> in(operands, grad, lse, delta);
    if (rows > 0) {
      launch(attention_delta_kernel<T>, warps_for(rows), HeadSteps(grad), HeadSteps(out),
             grad.as<T>(), out.as<T>(), shape.heads, shape.queries, shape.value_width, rows, delta);
    }
    if constexpr (!std::is_same_v<A, T>) {
      if (mask.data == nullptr &&
          tensor_core_attention_backward(grad, q, k, v, lse, delta, options, dq, dk, dv)) {
        return;
      }
    }
    if (rows > 0) {
      launch(attention_dq_kernel<T>, squares_for<A>(shape.queries, shape.batch * shape.heads), in,
             dq.as<T>());
    }
    if (shape.batch * shape.key_heads * shape.keys > 0) {
      launch(attention_dkv_kernel<T>, squares_for<A>(shape.keys, shape.batch * shape.key_heads), in,
             dk.as<T>(), dv.as<T>());
    }
  });
}

}  // namespace tapir::cuda
