// Attention with an online softmax for every dtype, size and mask: a warp per query, its lanes
// looking at 32 keys at a time. Source: Dao et al. 2022, "FlashAttention".
#include "backends/cuda/attention.h"
#include "backends/cuda/device.h"

namespace tapir::cuda {
namespace {

// Columns of the result that a lane keeps in registers; wider rows take several rounds.
constexpr int kColumns = 4;
constexpr int64_t kRound = kColumns * kWarp;

template <typename T>
__device__ Accum<T> dot(const T* a, const T* b, int64_t length) {
  Accum<T> sum = 0;
  for (int64_t i = 0; i < length; ++i) sum += widen(a[i]) * widen(b[i]);
  return sum;
}

// sum[c] += the sum over lanes of weight * row(lane)[c], for this lane's columns of the round.
template <typename T, typename Row>
__device__ void add_rows(Accum<T> weight, int count, int64_t begin, int64_t width, Row row,
                         Accum<T> (&sum)[kColumns]) {
  for (int other = 0; other < count; ++other) {
    const Accum<T> w = __shfl_sync(kAllLanes, weight, other);
    const T* values = row(other);
    TAPIR_UNROLL
    for (int c = 0; c < kColumns; ++c) {
      const int64_t column = begin + c * kWarp + lane_index();
      if (column < width) sum[c] += w * widen(values[column]);
    }
  }
}

template <typename T>
__device__ void store_row(const Accum<T> (&sum)[kColumns], Accum<T> factor, int64_t begin,
                          int64_t width, T* row) {
  TAPIR_UNROLL
  for (int c = 0; c < kColumns; ++c) {
    const int64_t column = begin + c * kWarp + lane_index();
    if (column < width) row[column] = narrow<T>(sum[c] * factor);
  }
}

__device__ int tile_size(int64_t begin, int64_t end) {
  return static_cast<int>(std::min(end - begin, static_cast<int64_t>(kWarp)));
}

template <typename T>
__global__ void attention_kernel(AttentionShape<Accum<T>> shape, HeadSteps q_steps,
                                 HeadSteps k_steps, HeadSteps v_steps, Mask mask, const T* q,
                                 const T* k, const T* v, T* out, Accum<T>* lse) {
  using A = Accum<T>;
  const int64_t item = warp_item();
  if (item >= shape.batch * shape.heads * shape.queries) return;
  const int64_t t = item % shape.queries, h = item / shape.queries % shape.heads;
  const int64_t b = item / shape.queries / shape.heads, kh = shape.key_head(h);
  const T* query = q + q_steps.at(b, h) + t * q_steps.row;
  const T* keys = k + k_steps.at(b, kh);
  const T* values = v + v_steps.at(b, kh);
  const int64_t visible = shape.visible(t);
  A largest = 0, total = 0;
  for (int64_t round = 0; round == 0 || round < shape.value_width; round += kRound) {
    A sum[kColumns] = {};
    largest = -infinity<A>();
    total = 0;
    for (int64_t begin = 0; begin < visible; begin += kWarp) {
      const int64_t s = begin + lane_index();
      A score = -infinity<A>();
      if (s < visible && mask.keeps(b, h, t, s))
        score = shape.scale * dot(query, keys + s * k_steps.row, shape.width);
      const A new_largest = Largest()(largest, warp_reduce(score, Largest()));
      if (new_largest == -infinity<A>()) continue;  // the whole warp agrees
      const A weight = fast_exp(score - new_largest), correction = fast_exp(largest - new_largest);
      total = total * correction + warp_sum(weight);
      largest = new_largest;
      TAPIR_UNROLL
      for (int c = 0; c < kColumns; ++c) sum[c] *= correction;
      add_rows<T>(
          weight, tile_size(begin, visible), round, shape.value_width,
          [&](int other) { return values + (begin + other) * v_steps.row; }, sum);
    }
    store_row<T>(sum, total > A(0) ? A(1) / total : A(0), round, shape.value_width,
                 out + item * shape.value_width);
  }
  if (lane_index() == 0) lse[item] = total > A(0) ? largest + std::log(total) : -infinity<A>();
}

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

// The tensors of the backward pass.
template <typename T>
struct BackwardInputs {
  AttentionShape<Accum<T>> shape;
  HeadSteps grad_steps, q_steps, k_steps, v_steps;
  Mask mask;
  const T* grad;
  const T* q;
  const T* k;
  const T* v;
  const Accum<T>* lse;
  const Accum<T>* delta;
};

// The probability of a query-key pair, and the gradient of its score.
template <typename A>
struct PairGradient {
  A probability = 0, score = 0;
};

template <typename T>
__device__ PairGradient<Accum<T>> pair_gradient(const BackwardInputs<T>& in, int64_t b, int64_t h,
                                                int64_t t, int64_t s) {
  using A = Accum<T>;
  const int64_t row = (b * in.shape.heads + h) * in.shape.queries + t;
  const int64_t kh = in.shape.key_head(h);
  const A lse = in.lse[row];
  if (lse == -infinity<A>() || !in.mask.keeps(b, h, t, s)) return {};
  const T* query = in.q + in.q_steps.at(b, h) + t * in.q_steps.row;
  const T* key = in.k + in.k_steps.at(b, kh) + s * in.k_steps.row;
  const T* grad = in.grad + in.grad_steps.at(b, h) + t * in.grad_steps.row;
  const T* value = in.v + in.v_steps.at(b, kh) + s * in.v_steps.row;
  const A probability = fast_exp(in.shape.scale * dot(query, key, in.shape.width) - lse);
  const A dp = dot(grad, value, in.shape.value_width);
  return {probability, in.shape.scale * probability * (dp - in.delta[row])};
}

// A warp per query: dq = the sum over keys of dscore * k.
template <typename T>
__global__ void attention_dq_kernel(BackwardInputs<T> in, T* dq) {
  using A = Accum<T>;
  const auto& shape = in.shape;
  const int64_t item = warp_item();
  if (item >= shape.batch * shape.heads * shape.queries) return;
  const int64_t t = item % shape.queries, h = item / shape.queries % shape.heads;
  const int64_t b = item / shape.queries / shape.heads;
  const T* keys = in.k + in.k_steps.at(b, shape.key_head(h));
  const int64_t visible = shape.visible(t);
  for (int64_t round = 0; round < shape.width; round += kRound) {
    A sum[kColumns] = {};
    for (int64_t begin = 0; begin < visible; begin += kWarp) {
      const int64_t s = begin + lane_index();
      PairGradient<A> pair;
      if (s < visible) pair = pair_gradient(in, b, h, t, s);
      add_rows<T>(
          pair.score, tile_size(begin, visible), round, shape.width,
          [&](int other) { return keys + (begin + other) * in.k_steps.row; }, sum);
    }
    store_row<T>(sum, A(1), round, shape.width, dq + item * shape.width);
  }
}

// A warp per key: dk = the sum over queries of dscore * q, dv = that of probability * grad, over
// all query heads that share the key.
template <typename T>
__global__ void attention_dkv_kernel(BackwardInputs<T> in, T* dk, T* dv) {
  using A = Accum<T>;
  const auto& shape = in.shape;
  const int64_t item = warp_item();
  if (item >= shape.batch * shape.key_heads * shape.keys) return;
  const int64_t s = item % shape.keys, kh = item / shape.keys % shape.key_heads;
  const int64_t b = item / shape.keys / shape.key_heads, group = shape.heads / shape.key_heads;
  for (int64_t round = 0; round < std::max(shape.width, shape.value_width); round += kRound) {
    A key_sum[kColumns] = {}, value_sum[kColumns] = {};
    for (int64_t h = kh * group; h < (kh + 1) * group; ++h) {
      const T* queries = in.q + in.q_steps.at(b, h);
      const T* grads = in.grad + in.grad_steps.at(b, h);
      for (int64_t begin = shape.first_query(s); begin < shape.queries; begin += kWarp) {
        const int64_t t = begin + lane_index();
        PairGradient<A> pair;
        if (t < shape.queries) pair = pair_gradient(in, b, h, t, s);
        const int count = tile_size(begin, shape.queries);
        add_rows<T>(
            pair.score, count, round, shape.width,
            [&](int other) { return queries + (begin + other) * in.q_steps.row; }, key_sum);
        add_rows<T>(
            pair.probability, count, round, shape.value_width,
            [&](int other) { return grads + (begin + other) * in.grad_steps.row; }, value_sum);
      }
    }
    store_row<T>(key_sum, A(1), round, shape.width, dk + item * shape.width);
    store_row<T>(value_sum, A(1), round, shape.value_width, dv + item * shape.value_width);
  }
}

}  // namespace

void CudaBackend::attention(ConstView q, ConstView k, ConstView v, ConstView mask,
                            const AttentionOptions& options, View out, View lse) const {
  const int64_t rows = lse.numel();
  if (rows == 0) return;
  if (mask.data == nullptr && tensor_core_attention(q, k, v, options, out, lse)) return;
  dispatch_floating(q.dtype, "attention", [&]<typename T>() {
    using A = Accum<T>;
    launch(attention_kernel<T>, warps_for(rows), AttentionShape<A>(q, k, v, options), HeadSteps(q),
           HeadSteps(k), HeadSteps(v), Mask(mask), q.as<T>(), k.as<T>(), v.as<T>(), out.as<T>(),
           lse.as<A>());
  });
}

void CudaBackend::attention_backward(ConstView grad, ConstView q, ConstView k, ConstView v,
                                     ConstView mask, ConstView out, ConstView lse,
                                     const AttentionOptions& options, View dq, View dk,
                                     View dv) const {
  const int64_t rows = lse.numel(), keys = k.size(0) * k.size(1) * k.size(2);
  dispatch_floating(q.dtype, "attention_backward", [&]<typename T>() {
    using A = Accum<T>;
    const AttentionShape<A> shape(q, k, v, options);
    const Scratch scratch(static_cast<size_t>(rows) * sizeof(A));
    A* delta = scratch.as<A>();
    const BackwardInputs<T> in{shape,        HeadSteps(grad), HeadSteps(q), HeadSteps(k),
                               HeadSteps(v), Mask(mask),      grad.as<T>(), q.as<T>(),
                               k.as<T>(),    v.as<T>(),       lse.as<A>(),  delta};
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
    if (rows > 0) launch(attention_dq_kernel<T>, warps_for(rows), in, dq.as<T>());
    if (keys > 0) launch(attention_dkv_kernel<T>, warps_for(keys), in, dk.as<T>(), dv.as<T>());
  });
}

}  // namespace tapir::cuda
