#include "backends/cpu/bf16_attention.h"

#include <cmath>

#include "backends/cpu/allocator.h"
#include "backends/cpu/bf16_attention_tiles.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/softmax_row.h"

namespace tapir::TAPIR_ISA {
namespace {

// The keys of a head as columns, its values as terms, both packed.
struct PackedHead {
  uint32_t *keys, *values;

  static int64_t size(const AttentionShape& p) {
    return packed_pairs(p.keys, p.width) + packed_pairs(p.value_width, p.keys);
  }
  PackedHead(uint32_t* memory, const AttentionShape& p)
      : keys(memory), values(memory + packed_pairs(p.keys, p.width)) {}

  void pack(const AttentionShape& p, int64_t b, int64_t kv) const {
    pack_b({p.k, b, kv}, p.keys, false, keys);
    pack_b({p.v, b, kv}, p.keys, true, values);
  }
};

// The memory of one worker: a tile of scores and of their exponentials, the running sum of weighted
// values, and the packed queries.
struct ForwardState {
  float *scores, *values;
  bf16* weights;
  uint32_t* queries;
  float largest[kTileQueries], sum[kTileQueries];

  // In floats.
  static int64_t size(const AttentionShape& p) {
    return kTileQueries * (kTileKeys + kTileKeys / 2 + padded(p.value_width, kStripLines)) +
           packed_pairs(kTileQueries, p.width);
  }
  ForwardState(float* memory, const AttentionShape& p)
      : scores(memory), values(scores + kTileQueries * kTileKeys) {
    float* const after = values + kTileQueries * padded(p.value_width, kStripLines);
    weights = reinterpret_cast<bf16*>(after);
    queries = reinterpret_cast<uint32_t*>(after + kTileQueries * kTileKeys / 2);
  }
};

// The exponentials of a tile's rows and, rounded, as an operand of the next product. Columns that
// nobody sees and rows that are not there are zeros.
void weigh(const AttentionShape& p, int64_t b, int64_t h, int64_t t, int64_t rows, int64_t s,
           int64_t columns, ForwardState& state) {
  const auto scale = static_cast<float>(p.options.scale);
  const int64_t values_ld = padded(p.value_width, kStripLines), all = padded(columns, kStripLines);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = state.scores + r * kTileKeys;
    const int64_t seen = p.visible_columns(t + r, s, columns), whole = padded(seen);
#pragma omp simd
    for (int64_t j = 0; j < seen; ++j) row[j] *= scale;
    p.hide(b, h, t + r, s, seen, row);
    const float factor = update_row(row, whole, state.largest[r], state.sum[r]);
    std::fill(row + whole, row + all, 0.0f);
    float* values = state.values + r * values_ld;
#pragma omp simd
    for (int64_t j = 0; j < values_ld; ++j) values[j] *= factor;
  }
  round_rows(state.scores, kTileKeys, rows, all, state.weights, kTileKeys);
}

void attend_block(const AttentionShape& p, int64_t b, int64_t h, int64_t t, const PackedHead& head,
                  ForwardState& state, View out, float* lse) {
  const int64_t rows = std::min(kTileQueries, p.queries - t);
  const int64_t values_ld = padded(p.value_width, kStripLines);
  std::fill_n(state.values, kTileQueries * values_ld, 0.0f);
  std::fill_n(state.largest, kTileQueries, -std::numeric_limits<float>::infinity());
  std::fill_n(state.sum, kTileQueries, 0.0f);
  Tiles tiles;
  const StripView queries = strip_a({p.q, b, h, t}, state.queries);
  const int64_t keys = p.visible(t + rows - 1);
  for (int64_t s = 0; s < keys; s += kTileKeys) {
    const int64_t columns = std::min(kTileKeys, keys - s);
    const uint32_t* key_strips = head.keys + packed_pairs(s, p.width);
    multiply_rows(tiles, steps_of(p.width), queries, {key_strips, steps_of(p.width)}, columns,
                  false, state.scores, kTileKeys);
    weigh(p, b, h, t, rows, s, columns, state);
    multiply_rows(tiles, steps_of(columns), KeyTile{state.weights}.as_rows(),
                  {head.values, steps_of(p.keys), s / kStepTerms}, p.value_width, true,
                  state.values, values_ld);
  }
  for (int64_t r = 0; r < rows; ++r) {
    const float scale = state.sum[r] == 0 ? 0 : 1 / state.sum[r];
    lse[r] = state.largest[r] + std::log(state.sum[r]);  // -inf for a row that sees nothing
    for (int64_t j = 0; j < values_ld; ++j) state.values[r * values_ld + j] *= scale;
  }
  const int64_t out_step = p.queries <= 1 ? p.value_width : out.stride(2);
  round_rows(state.values, values_ld, rows, p.value_width,
             out.as<bf16>() + b * out.stride(0) + h * out.stride(1) + t * out.stride(2), out_step);
}

}  // namespace

void attend_bf16(ConstView q, ConstView k, ConstView v, ConstView mask,
                 const AttentionOptions& options, View out, View lse) {
  const AttentionShape p(q, k, v, mask, options);
  if (out.numel() == 0) return;
  const int64_t kv_heads = p.batch * p.kv_heads, head_size = PackedHead::size(p);
  const cpu::Scratch<uint32_t> heads(kv_heads * head_size);
  const auto head_at = [&](int64_t item) { return PackedHead(heads.data() + item * head_size, p); };
  cpu::parallel_for(kv_heads, head_size, [&](int64_t item) {
    head_at(item).pack(p, item / p.kv_heads, item % p.kv_heads);
  });
  const int64_t blocks = strips_of(p.queries), state_size = ForwardState::size(p);
  const cpu::Scratch<float> memory(cpu::threads() * state_size);
  const int64_t cost = kTileQueries * p.keys * (p.width + p.value_width) / 32;
  cpu::parallel_for(p.batch * p.heads * blocks, cost, [&](int64_t item, int worker) {
    const int64_t t = item % blocks * kTileQueries, head = item / blocks;
    const int64_t b = head / p.heads, h = head % p.heads;
    ForwardState state(memory.data() + worker * state_size, p);
    attend_block(p, b, h, t, head_at(b * p.kv_heads + p.kv_head(h)), state, out,
                 lse.as<float>() + head * p.queries + t);
  });
}

}  // namespace tapir::TAPIR_ISA
