// The gradient of bf16 attention, from the saved log-sum-exp of each row.
#include <cmath>

#include "backends/cpu/allocator.h"
#include "backends/cpu/bf16_attention.h"
#include "backends/cpu/bf16_attention_tiles.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"
#include "backends/scalar_math.h"

namespace tapir::TAPIR_ISA {
namespace {

struct Gradients {
  ConstView grad, out, lse;
  View dq, dk, dv;
};

// Hands out pieces of a worker's memory, each from a new line of the cache on.
class Carver {
 public:
  explicit Carver(std::byte* memory) : at_(memory) {}

  template <typename T>
  T* take(int64_t count) {
    T* const piece = reinterpret_cast<T*>(at_ == nullptr ? nullptr : at_ + size_);
    size_ += padded(count * int64_t{sizeof(T)}, 64);
    return piece;
  }
  int64_t size() const { return size_; }

 private:
  std::byte* at_;
  int64_t size_ = 0;
};

// The memory of one worker. Of a head: keys and values as columns and keys as terms, packed, and
// the gradients of both. Of 32 queries: they and the gradients of their outputs as rows and as
// terms. Of a tile: scores and their gradients, in f32 and in bf16.
struct State {
  uint32_t *key_columns, *value_columns, *key_terms;
  float *dk, *dv;
  uint32_t *query_rows, *grad_rows, *query_terms, *grad_terms, *turned;
  float *dq, *probabilities, *score_grads;
  KeyTile narrow_probabilities, narrow_score_grads;
  float delta[kTileQueries];

  State(Carver& memory, const AttentionShape& p)
      : key_columns(memory.take<uint32_t>(packed_pairs(p.keys, p.width))),
        value_columns(memory.take<uint32_t>(packed_pairs(p.keys, p.value_width))),
        key_terms(memory.take<uint32_t>(packed_pairs(p.width, p.keys))),
        dk(memory.take<float>(padded(p.keys, kStripLines) * dk_ld(p))),
        dv(memory.take<float>(padded(p.keys, kStripLines) * dv_ld(p))),
        query_rows(memory.take<uint32_t>(packed_pairs(kTileQueries, p.width))),
        grad_rows(memory.take<uint32_t>(packed_pairs(kTileQueries, p.value_width))),
        query_terms(memory.take<uint32_t>(packed_pairs(p.width, kTileQueries))),
        grad_terms(memory.take<uint32_t>(packed_pairs(p.value_width, kTileQueries))),
        turned(memory.take<uint32_t>(packed_pairs(kStripLines, kTileQueries))),
        dq(memory.take<float>(kTileQueries * dk_ld(p))),
        probabilities(memory.take<float>(kTileQueries * kTileKeys)),
        score_grads(memory.take<float>(kTileQueries * kTileKeys)),
        narrow_probabilities{memory.take<bf16>(kTileQueries * kTileKeys)},
        narrow_score_grads{memory.take<bf16>(kTileQueries * kTileKeys)} {}

  static int64_t dk_ld(const AttentionShape& p) { return padded(p.width, kStripLines); }
  static int64_t dv_ld(const AttentionShape& p) { return padded(p.value_width, kStripLines); }
  static int64_t bytes(const AttentionShape& p) {
    Carver nothing(nullptr);
    const State state(nothing, p);
    return nothing.size();
  }

  void begin_head(const AttentionShape& p, int64_t b, int64_t kv) const {
    pack_b({p.k, b, kv}, p.keys, false, key_columns);
    pack_b({p.v, b, kv}, p.keys, false, value_columns);
    pack_b({p.k, b, kv}, p.keys, true, key_terms);
    std::fill_n(dk, padded(p.keys, kStripLines) * dk_ld(p), 0.0f);
    std::fill_n(dv, padded(p.keys, kStripLines) * dv_ld(p), 0.0f);
  }
};

// 32 queries of a head, or what is left of them.
struct Block {
  int64_t b, h, t, rows;
  const float* lse;
  StripView queries, grads;  // as rows
};

// With P the probabilities, dP = grad V^T and delta = rowsum(grad * out): dS = scale P (dP -
// delta). Rows that are not there and columns that nobody sees are zeros.
void score_gradients(const AttentionShape& p, const Block& block, int64_t s, int64_t columns,
                     State& state) {
  const auto scale = static_cast<float>(p.options.scale);
  const int64_t all = padded(columns, kStripLines);
  for (int64_t r = 0; r < block.rows; ++r) {
    float* row = state.probabilities + r * kTileKeys;
    float* row_grad = state.score_grads + r * kTileKeys;
    const int64_t seen = p.visible_columns(block.t + r, s, columns), whole = padded(seen);
#pragma omp simd
    for (int64_t j = 0; j < seen; ++j) row[j] *= scale;
    p.hide(block.b, block.h, block.t + r, s, seen, row);
    const bool empty = block.lse[r] == -std::numeric_limits<float>::infinity();
    const float shift = empty ? 0 : block.lse[r], delta = state.delta[r];
    std::fill(row_grad + seen, row_grad + all, 0.0f);
#pragma omp simd
    for (int64_t j = 0; j < whole; ++j) {
      row[j] = scalar::exp(row[j] - shift);
      row_grad[j] = scale * row[j] * (row_grad[j] - delta);
    }
    std::fill(row + whole, row + all, 0.0f);
  }
  round_rows(state.probabilities, kTileKeys, block.rows, all, state.narrow_probabilities.data,
             kTileKeys);
  round_rows(state.score_grads, kTileKeys, block.rows, all, state.narrow_score_grads.data,
             kTileKeys);
}

// dV = P^T grad, dQ = dS K, dK = dS^T Q, for the keys from s on.
void backward_tile(const AttentionShape& p, const Block& block, int64_t s, int64_t columns,
                   Tiles& tiles, State& state) {
  const int64_t steps = steps_of(p.width), value_steps = steps_of(p.value_width);
  multiply_rows(tiles, steps, block.queries, {state.key_columns + packed_pairs(s, p.width), steps},
                columns, false, state.probabilities, kTileKeys);
  multiply_rows(tiles, value_steps, block.grads,
                {state.value_columns + packed_pairs(s, p.value_width), value_steps}, columns, false,
                state.score_grads, kTileKeys);
  score_gradients(p, block, s, columns, state);
  const int64_t dk_ld = State::dk_ld(p), dv_ld = State::dv_ld(p);
  multiply_rows(tiles, steps_of(columns), state.narrow_score_grads.as_rows(),
                {state.key_terms, steps_of(p.keys), s / kStepTerms}, p.width, s > 0, state.dq,
                dk_ld);
  for (int64_t j = 0; j < columns; j += kStripLines) {
    multiply_rows(tiles, 1, state.narrow_probabilities.turned(j, state.turned),
                  {state.grad_terms, 1}, p.value_width, true, state.dv + (s + j) * dv_ld, dv_ld);
    multiply_rows(tiles, 1, state.narrow_score_grads.turned(j, state.turned),
                  {state.query_terms, 1}, p.width, true, state.dk + (s + j) * dk_ld, dk_ld);
  }
}

// Rounds rows into those of a head from t on.
void round_into(View to, int64_t b, int64_t h, int64_t t, const float* from, int64_t ld,
                int64_t rows) {
  const int64_t row_step = to.size(2) <= 1 ? to.size(3) : to.stride(2);
  round_rows(from, ld, rows, to.size(3),
             to.as<bf16>() + b * to.stride(0) + h * to.stride(1) + t * to.stride(2), row_step);
}

void backward_block(const AttentionShape& p, const Gradients& g, int64_t b, int64_t h, int64_t t,
                    Tiles& tiles, State& state) {
  const HeadRows q(p.q, b, h, t), grad(g.grad, b, h, t), out(g.out, b, h, t);
  const int64_t rows = std::min(kTileQueries, p.queries - t);
  const Block block{b,
                    h,
                    t,
                    rows,
                    g.lse.as<float>() + (b * p.heads + h) * p.queries + t,
                    strip_a(q, state.query_rows),
                    strip_a(grad, state.grad_rows)};
  pack_b(q, rows, true, state.query_terms);
  pack_b(grad, rows, true, state.grad_terms);
  if (rows < kTileQueries) {
    for (const KeyTile& tile : {state.narrow_probabilities, state.narrow_score_grads})
      std::fill_n(tile.data, kTileQueries * kTileKeys, bf16());
  }
  for (int64_t r = 0; r < rows; ++r) {
    const bf16* x = grad.data + r * grad.row_step;
    const bf16* y = out.data + r * out.row_step;
    state.delta[r] =
        lane_sum<float>(p.value_width, [=](int64_t j) { return widen(x[j]) * widen(y[j]); });
  }
  const int64_t seen = p.visible(t + rows - 1);
  if (seen == 0) std::fill_n(state.dq, kTileQueries * State::dk_ld(p), 0.0f);
  for (int64_t s = 0; s < seen; s += kTileKeys)
    backward_tile(p, block, s, std::min(kTileKeys, seen - s), tiles, state);
  round_into(g.dq, b, h, t, state.dq, State::dk_ld(p), rows);
}

}  // namespace

// One item is a head of keys and values with all query heads that share it, so that their gradients
// are added in a fixed order.
void attend_bf16_backward(ConstView grad, ConstView q, ConstView k, ConstView v, ConstView mask,
                          ConstView out, ConstView lse, const AttentionOptions& options, View dq,
                          View dk, View dv) {
  const AttentionShape p(q, k, v, mask, options);
  if (p.batch * p.heads == 0) return;
  const Gradients g{grad, out, lse, dq, dk, dv};
  const int64_t bytes = State::bytes(p);
  const cpu::Scratch<std::byte> memory(cpu::threads() * bytes);
  const int64_t cost = p.group_cost() / 16;
  cpu::parallel_for(p.batch * p.kv_heads, cost, [&](int64_t item, int worker) {
    const int64_t b = item / p.kv_heads, kv = item % p.kv_heads;
    Carver own(memory.data() + worker * bytes);
    State state(own, p);
    state.begin_head(p, b, kv);
    Tiles tiles;
    for (int64_t h = kv * p.group(); h < (kv + 1) * p.group(); ++h) {
      for (int64_t t = 0; t < p.queries; t += kTileQueries)
        backward_block(p, g, b, h, t, tiles, state);
    }
    round_into(dk, b, kv, 0, state.dk, State::dk_ld(p), p.keys);
    round_into(dv, b, kv, 0, state.dv, State::dv_ld(p), p.keys);
  });
}

}  // namespace tapir::TAPIR_ISA
