// The gradients of attention on tensor cores. One kernel has a block per 64 queries and sums dq
// over keys, the other a block per 64 keys and sums dk and dv over queries, so nothing is added
// by two blocks and results repeat bit for bit. Both compute the weights again from the saved
// log-sum-exp. Source: Dao 2023, "FlashAttention-2".
#include "backends/cuda/device.h"
#include "backends/cuda/tensor_cores.h"

namespace tapir::cuda {
namespace {

template <typename T>
struct TileInputs {
  AttentionShape<float> shape;
  HeadSteps grad_steps, q_steps, k_steps, v_steps;
  const T* grad;
  const T* q;
  const T* k;
  const T* v;
  const float* lse;
  const float* delta;
};

// Turns a score into the weight of the pair, and the gradient of the weight into that of the score
// before scaling.
__device__ void pair_step(float& score, float& gradient, float scale, float lse, float delta,
                          bool visible) {
  const float weight = visible ? exp2f(score * (scale * kLog2E) - lse * kLog2E) : 0.0f;
  gradient = visible ? weight * (gradient - delta) * scale : 0.0f;
  score = weight;
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 2) dq_tiles_kernel(TileInputs<T> in, T* dq) {
  using Rows = Tile<T, kWidth>;
  constexpr int kKeys = kTurnRows<kWidth>, kTile = kKeys * Rows::kStride;
  TAPIR_DYNAMIC_SHARED(T, shared);
  const AttentionShape<float>& shape = in.shape;
  const Rows q_tile{shared}, grad_tile{shared + kTileRows * Rows::kStride};
  T* const turns = shared + 2 * kTileRows * Rows::kStride;
  const int64_t first = static_cast<int64_t>(gridDim.x - 1 - blockIdx.x) * kTileRows;
  const int64_t b = blockIdx.y / shape.heads, h = blockIdx.y % shape.heads;
  const int64_t kh = shape.key_head(h);
  const int64_t end = shape.visible(std::min(first + kTileRows, shape.queries) - 1);
  const int warp_row = static_cast<int>(threadIdx.x) / kWarp * 16;
  const T* keys = in.k + in.k_steps.at(b, kh);
  const T* values = in.v + in.v_steps.at(b, kh);
  const auto load_turn = [&](int64_t key) {
    T* const tile = turns + key / kKeys % 2 * 2 * kTile;
    Rows{tile}.load(keys, in.k_steps.row, key, shape.keys, kKeys, shape.width);
    Rows{tile + kTile}.load(values, in.v_steps.row, key, shape.keys, kKeys, shape.width);
  };
  q_tile.load(in.q + in.q_steps.at(b, h), in.q_steps.row, first, shape.queries, kTileRows,
              shape.width);
  grad_tile.load(in.grad + in.grad_steps.at(b, h), in.grad_steps.row, first, shape.queries,
                 kTileRows, shape.width);
  load_turn(0);
  cp_async_commit();

  const int64_t head_row = static_cast<int64_t>(blockIdx.y) * shape.queries;
  int64_t visible[2];
  float lse[2] = {0, 0}, delta[2] = {0, 0};
  TAPIR_UNROLL
  for (int half = 0; half < 2; ++half) {
    const int64_t row = first + warp_row + row_in_fragment() + 8 * half;
    visible[half] = row < shape.queries ? shape.visible(row) : 0;
    if (row < shape.queries) {
      lse[half] = in.lse[head_row + row];
      delta[half] = in.delta[head_row + row];
    }
  }
  Accumulator sums[kWidth / 8];
  clear(sums);
  for (int64_t key = 0; key < end; key += kKeys) {
    if (key + kKeys < end) load_turn(key + kKeys);
    cp_async_commit();
    cp_async_wait<1>();
    __syncthreads();
    const Rows k_tile{turns + key / kKeys % 2 * 2 * kTile}, v_tile{k_tile.data + kTile};
    Accumulator scores[kKeys / 8], gradients[kKeys / 8];
    clear(scores);
    clear(gradients);
    multiply_transposed<T, kWidth>(q_tile, warp_row, k_tile, scores);
    multiply_transposed<T, kWidth>(grad_tile, warp_row, v_tile, gradients);
    TAPIR_UNROLL
    for (int n = 0; n < kKeys / 8; ++n) {
      TAPIR_UNROLL
      for (int i = 0; i < 4; ++i) {
        const int64_t s = key + 8 * n + column_in_fragment() + i % 2;
        pair_step(scores[n][i], gradients[n][i], shape.scale, lse[i / 2], delta[i / 2],
                  s < visible[i / 2]);
      }
    }
    multiply_weights<T, kWidth>(gradients, k_tile, sums);
    __syncthreads();
  }
  store_rows<T, kWidth>(sums, {1.0f, 1.0f}, first + warp_row, shape.queries, shape.width,
                        dq + head_row * shape.width);
}

// The block's rows are keys here, and scores are transposed: [keys, queries].
template <typename T, int kWidth>
__global__ void __launch_bounds__(kTileThreads, 2)
    dkv_tiles_kernel(TileInputs<T> in, T* dk, T* dv) {
  using Rows = Tile<T, kWidth>;
  constexpr int kQueries = kTurnRows<kWidth> / 2, kTile = kQueries * Rows::kStride;
  TAPIR_DYNAMIC_SHARED(T, shared);
  const AttentionShape<float>& shape = in.shape;
  const Rows k_tile{shared}, v_tile{shared + kTileRows * Rows::kStride};
  T* const turns = shared + 2 * kTileRows * Rows::kStride;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kTileRows;
  const int64_t b = blockIdx.y / shape.key_heads, kh = blockIdx.y % shape.key_heads;
  const int64_t group = shape.heads / shape.key_heads;
  const int warp_row = static_cast<int>(threadIdx.x) / kWarp * 16;
  // A turn is a tile of queries of one of the heads that share these keys.
  const int64_t start = shape.first_query(first) / kQueries * kQueries;
  const int64_t left = shape.queries - start;
  const int64_t tiles = left > 0 ? (left + kQueries - 1) / kQueries : 0, turn_count = group * tiles;
  const auto head_of = [&](int64_t turn) { return kh * group + turn / tiles; };
  const auto query_of = [&](int64_t turn) { return start + turn % tiles * kQueries; };
  const auto load_turn = [&](int64_t turn) {
    T* const tile = turns + turn % 2 * 2 * kTile;
    const int64_t h = head_of(turn), query = query_of(turn);
    Rows{tile}.load(in.q + in.q_steps.at(b, h), in.q_steps.row, query, shape.queries, kQueries,
                    shape.width);
    Rows{tile + kTile}.load(in.grad + in.grad_steps.at(b, h), in.grad_steps.row, query,
                            shape.queries, kQueries, shape.width);
  };
  k_tile.load(in.k + in.k_steps.at(b, kh), in.k_steps.row, first, shape.keys, kTileRows,
              shape.width);
  v_tile.load(in.v + in.v_steps.at(b, kh), in.v_steps.row, first, shape.keys, kTileRows,
              shape.width);
  if (turn_count > 0) load_turn(0);
  cp_async_commit();

  Accumulator dk_sums[kWidth / 8], dv_sums[kWidth / 8];
  clear(dk_sums);
  clear(dv_sums);
  for (int64_t turn = 0; turn < turn_count; ++turn) {
    if (turn + 1 < turn_count) load_turn(turn + 1);
    cp_async_commit();
    cp_async_wait<1>();
    __syncthreads();
    const Rows q_tile{turns + turn % 2 * 2 * kTile}, grad_tile{q_tile.data + kTile};
    Accumulator scores[kQueries / 8], gradients[kQueries / 8];
    clear(scores);
    clear(gradients);
    multiply_transposed<T, kWidth>(k_tile, warp_row, q_tile, scores);
    multiply_transposed<T, kWidth>(v_tile, warp_row, grad_tile, gradients);
    const int64_t head_row = (b * shape.heads + head_of(turn)) * shape.queries;
    TAPIR_UNROLL
    for (int n = 0; n < kQueries / 8; ++n) {
      TAPIR_UNROLL
      for (int i = 0; i < 2; ++i) {
        const int64_t t = query_of(turn) + 8 * n + column_in_fragment() + i;
        const bool exists = t < shape.queries;
        const float lse = exists ? in.lse[head_row + t] : 0.0f;
        const float delta = exists ? in.delta[head_row + t] : 0.0f;
        const int64_t visible = exists ? shape.visible(t) : 0;
        TAPIR_UNROLL
        for (int half = 0; half < 2; ++half) {
          const int64_t s = first + warp_row + row_in_fragment() + 8 * half;
          pair_step(scores[n][2 * half + i], gradients[n][2 * half + i], shape.scale, lse, delta,
                    s < visible);
        }
      }
    }
    multiply_weights<T, kWidth>(scores, grad_tile, dv_sums);
    multiply_weights<T, kWidth>(gradients, q_tile, dk_sums);
    __syncthreads();
  }
  const int64_t head_row = static_cast<int64_t>(blockIdx.y) * shape.keys;
  store_rows<T, kWidth>(dk_sums, {1.0f, 1.0f}, first + warp_row, shape.keys, shape.width,
                        dk + head_row * shape.width);
  store_rows<T, kWidth>(dv_sums, {1.0f, 1.0f}, first + warp_row, shape.keys, shape.width,
                        dv + head_row * shape.width);
}

}  // namespace

bool tensor_core_attention_backward(ConstView grad, ConstView q, ConstView k, ConstView v,
                                    ConstView lse, const float* delta,
                                    const AttentionOptions& options, View dq, View dk, View dv) {
  if (!fits_tensor_cores(q, k, v) || !fits_tiles(grad)) return false;
  const AttentionShape<float> shape(q, k, v, options);
  dispatch_tiles(q.dtype, shape.width, [&]<typename T, int kWidth>() {
    const TileInputs<T> in{shape,        HeadSteps(grad), HeadSteps(q), HeadSteps(k),
                           HeadSteps(v), grad.as<T>(),    q.as<T>(),    k.as<T>(),
                           v.as<T>(),    lse.as<float>(), delta};
    const size_t dq_bytes = Tile<T, kWidth>::bytes(2 * kTileRows + 4 * kTurnRows<kWidth>);
    const size_t dkv_bytes = Tile<T, kWidth>::bytes(2 * kTileRows + 2 * kTurnRows<kWidth>);
    check(allow_shared_bytes(dq_tiles_kernel<T, kWidth>, dq_bytes), "cudaFuncSetAttribute");
    check(allow_shared_bytes(dkv_tiles_kernel<T, kWidth>, dkv_bytes), "cudaFuncSetAttribute");
    if (shape.queries > 0) {
      launch(dq_tiles_kernel<T, kWidth>,
             tiles_for(shape.queries, shape.batch * shape.heads, dq_bytes), in, dq.as<T>());
    }
    if (shape.keys > 0) {
      launch(dkv_tiles_kernel<T, kWidth>,
             tiles_for(shape.keys, shape.batch * shape.key_heads, dkv_bytes), in, dk.as<T>(),
             dv.as<T>());
    }
  });
  return true;
}

}  // namespace tapir::cuda
