// Attention on tensor cores: a block per 64 queries of a head, 16 to a warp, with keys and values
// passing through shared memory while the tile before is worked on. Scores are kept in units of
// log 2, so that exponentials are powers of two. Source: Dao 2023, "FlashAttention-2".
#include "backends/cuda/device.h"
#include "backends/cuda/tensor_cores.h"

namespace tapir::cuda {
namespace {

// The largest score and the sum of weights of the two rows that a lane shares with three others.
struct RowState {
  float largest[2] = {-INFINITY, -INFINITY};
  float total[2] = {0, 0};
};

__device__ float quad_max(float value) {
  value = fmaxf(value, __shfl_xor_sync(kAllLanes, value, 1));
  return fmaxf(value, __shfl_xor_sync(kAllLanes, value, 2));
}

__device__ float quad_sum(float value) {
  value += __shfl_xor_sync(kAllLanes, value, 1);
  return value + __shfl_xor_sync(kAllLanes, value, 2);
}

// Turns scores into weights relative to the rows' new maxima, and returns by how much everything
// summed before shrinks. Keys from `visible` on have no weight.
template <int kColumns>
__device__ void softmax_step(Accumulator (&scores)[kColumns], float scale, int64_t first_key,
                             const int64_t (&visible)[2], RowState& state, float (&shrink)[2]) {
  TAPIR_UNROLL
  for (int half = 0; half < 2; ++half) {
    float largest = state.largest[half];
    TAPIR_UNROLL
    for (int n = 0; n < kColumns; ++n) {
      TAPIR_UNROLL
      for (int i = 0; i < 2; ++i) {
        float& score = scores[n][2 * half + i];
        const int64_t key = first_key + 8 * n + column_in_fragment() + i;
        score = key < visible[half] ? score * scale : -INFINITY;
        largest = fmaxf(largest, score);
      }
    }
    largest = quad_max(largest);
    const float reference = largest == -INFINITY ? 0.0f : largest;
    shrink[half] = exp2f(state.largest[half] - reference);
    float sum = 0;
    TAPIR_UNROLL
    for (int n = 0; n < kColumns; ++n) {
      TAPIR_UNROLL
      for (int i = 0; i < 2; ++i) {
        float& score = scores[n][2 * half + i];
        score = exp2f(score - reference);
        sum += score;
      }
    }
    state.total[half] = state.total[half] * shrink[half] + sum;
    state.largest[half] = largest;
  }
}

template <typename T, int kWidth>
__global__ void __launch_bounds__(kTileThreads)
    attention_tiles_kernel(AttentionShape<float> shape, HeadSteps q_steps, HeadSteps k_steps,
                           HeadSteps v_steps, const T* q, const T* k, const T* v, T* out,
                           float* lse) {
  using Rows = Tile<T, kWidth>;
  constexpr int kKeys = kTurnRows<kWidth>, kTile = kKeys * Rows::kStride;
  TAPIR_DYNAMIC_SHARED(T, shared);
  const Rows q_tile{shared};
  T* const turns = shared + kTileRows * Rows::kStride;
  // Blocks with many visible keys start first.
  const int64_t first = static_cast<int64_t>(gridDim.x - 1 - blockIdx.x) * kTileRows;
  const int64_t b = blockIdx.y / shape.heads, h = blockIdx.y % shape.heads;
  const int64_t kh = shape.key_head(h);
  const int64_t warp_row = first + threadIdx.x / kWarp * 16;
  const int64_t end = shape.visible(std::min(first + kTileRows, shape.queries) - 1);
  const int64_t row = warp_row + row_in_fragment();
  const int64_t visible[2] = {shape.visible(row), shape.visible(row + 8)};
  const T* keys = k + k_steps.at(b, kh);
  const T* values = v + v_steps.at(b, kh);
  const auto load_turn = [&](int64_t key) {
    T* const tile = turns + key / kKeys % 2 * 2 * kTile;
    Rows{tile}.load(keys, k_steps.row, key, shape.keys, kKeys, shape.width);
    Rows{tile + kTile}.load(values, v_steps.row, key, shape.keys, kKeys, shape.width);
  };
  q_tile.load(q + q_steps.at(b, h), q_steps.row, first, shape.queries, kTileRows, shape.width);
  load_turn(0);
  cp_async_commit();

  RowState state;
  Accumulator sums[kWidth / 8];
  clear(sums);
  for (int64_t key = 0; key < end; key += kKeys) {
    if (key + kKeys < end) load_turn(key + kKeys);
    cp_async_commit();
    cp_async_wait<1>();
    __syncthreads();
    const Rows k_tile{turns + key / kKeys % 2 * 2 * kTile}, v_tile{k_tile.data + kTile};
    Accumulator scores[kKeys / 8];
    clear(scores);
    multiply_transposed<T, kWidth>(q_tile, static_cast<int>(warp_row - first), k_tile, scores);
    float shrink[2];
    softmax_step(scores, shape.scale * kLog2E, key, visible, state, shrink);
    TAPIR_UNROLL
    for (int n = 0; n < kWidth / 8; ++n) {
      TAPIR_UNROLL
      for (int i = 0; i < 4; ++i) sums[n][i] *= shrink[i / 2];
    }
    multiply_weights<T, kWidth>(scores, v_tile, sums);
    __syncthreads();  // the tile is read; the next turn but one may overwrite it
  }

  const int64_t head_row = static_cast<int64_t>(blockIdx.y) * shape.queries;
  float factors[2];
  TAPIR_UNROLL
  for (int half = 0; half < 2; ++half) {
    const float total = quad_sum(state.total[half]);
    factors[half] = total > 0 ? 1.0f / total : 0.0f;
    if (lane_index() % 4 == 0 && row + 8 * half < shape.queries) {
      lse[head_row + row + 8 * half] =
          total > 0 ? state.largest[half] * kLn2 + logf(total) : -INFINITY;
    }
  }
  store_rows<T, kWidth>(sums, factors, warp_row, shape.queries, shape.width,
                        out + head_row * shape.width);
}

}  // namespace

bool tensor_core_attention(ConstView q, ConstView k, ConstView v, const AttentionOptions& options,
                           View out, View lse) {
  if (!fits_tensor_cores(q, k, v)) return false;
  const AttentionShape<float> shape(q, k, v, options);
  dispatch_tiles(q.dtype, shape.width, [&]<typename T, int kWidth>() {
    const size_t bytes = Tile<T, kWidth>::bytes(kTileRows + 4 * kTurnRows<kWidth>);
    check(allow_shared_bytes(attention_tiles_kernel<T, kWidth>, bytes), "cudaFuncSetAttribute");
    launch(attention_tiles_kernel<T, kWidth>,
           tiles_for(shape.queries, shape.batch * shape.heads, bytes), shape, HeadSteps(q),
           HeadSteps(k), HeadSteps(v), q.as<T>(), k.as<T>(), v.as<T>(), out.as<T>(),
           lse.as<float>());
  });
  return true;
}

}  // namespace tapir::cuda
