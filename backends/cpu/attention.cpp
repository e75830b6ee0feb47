// Attention without a T x S matrix. Source: Dao et al. 2022, "FlashAttention".
#include "backends/cpu/attention.h"

#include <cmath>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/query_attention.h"
#include "backends/cpu/softmax_row.h"
#include "backends/cpu/wide_heads.h"

namespace tapir::TAPIR_ISA {
namespace {

// The memory of one worker: a tile of scores, the running sum of weighted values, and the running
// maximum and sum of exponentials of each row.
template <typename A>
struct ForwardState {
  A *scores, *values, *largest, *sum, *product_memory;

  static int64_t size(const AttentionProblem<A>& p) {
    return kQueryBlock * (kKeyBlock + p.value_width + 2) + p.product_memory();
  }
  ForwardState(A* memory, int64_t value_width)
      : scores(memory),
        values(scores + kQueryBlock * kKeyBlock),
        largest(values + kQueryBlock * value_width),
        sum(largest + kQueryBlock),
        product_memory(sum + kQueryBlock) {}
};

template <typename A>
void attend_block(const AttentionProblem<A>& p, int64_t b, int64_t h, int64_t t,
                  cpu::BlasMatrix<const A> key_columns, const ForwardState<A>& state, View out,
                  A* lse) {
  const int64_t tile_rows = std::min(kQueryBlock, p.queries - t), width = p.value_width;
  std::fill_n(state.values, tile_rows * width, A(0));
  std::fill_n(state.largest, tile_rows, -std::numeric_limits<A>::infinity());
  std::fill_n(state.sum, tile_rows, A(0));
  const int64_t keys = p.visible(t + tile_rows - 1);
  for (int64_t s = 0; s < keys; s += kKeyBlock) {
    const int64_t columns = std::min(kKeyBlock, keys - s);
    p.score_tile(b, h, t, tile_rows, s, columns, key_columns, state.scores, state.product_memory);
    for (int64_t r = 0; r < tile_rows; ++r) {
      A* row = state.scores + r * kKeyBlock;
      const int64_t seen = padded(p.visible_columns(t + r, s, columns));
      const A factor = update_row(row, seen, state.largest[r], state.sum[r]);
      if (seen < columns) std::fill(row + seen, row + columns, A(0));
      A* values = state.values + r * width;
      for (int64_t j = 0; j < width; ++j) values[j] *= factor;
    }
    product<A>(tile_rows, width, columns, A(1), {state.scores, kKeyBlock},
               p.rows(p.v, b, p.kv_head(h), s), A(1), {state.values, width}, state.product_memory);
  }
  const cpu::BlasMatrix<A> to = p.rows(out, b, h, t);
  for (int64_t r = 0; r < tile_rows; ++r) {
    const A sum = state.sum[r], scale = sum == A(0) ? A(0) : A(1) / sum;
    lse[r] = state.largest[r] + std::log(sum);  // -inf for a row that sees nothing
    for (int64_t j = 0; j < width; ++j)
      to.data[r * to.ld + j] = state.values[r * width + j] * scale;
  }
}

template <typename A>
void attend(const AttentionProblem<A>& p, View out, View lse) {
  if constexpr (std::is_same_v<A, double>) cpu::load_blas();
  const int64_t kv_heads = p.batch * p.kv_heads;
  const int64_t transposed_size = p.transposes() ? p.width * p.transposed_step() : 0;
  const cpu::Scratch<A> transposed(kv_heads * transposed_size);
  std::vector<cpu::BlasMatrix<const A>> key_columns(static_cast<size_t>(kv_heads));
  cpu::parallel_for(kv_heads, transposed_size, [&](int64_t item) {
    key_columns[static_cast<size_t>(item)] = p.columns_of(
        p.k, item / p.kv_heads, item % p.kv_heads, transposed.data() + item * transposed_size);
  });
  const int64_t blocks = (p.queries + kQueryBlock - 1) / kQueryBlock;
  const int64_t state_size = ForwardState<A>::size(p);
  const cpu::Scratch<A> memory(cpu::threads() * state_size);
  const int64_t cost = std::min(kQueryBlock, p.queries) * p.keys * (p.width + p.value_width) / 8;
  cpu::parallel_for(p.batch * p.heads * blocks, cost, [&](int64_t item, int worker) {
    const int64_t t = item % blocks * kQueryBlock, head = item / blocks;
    const int64_t b = head / p.heads, h = head % p.heads;
    const ForwardState<A> state(memory.data() + worker * state_size, p.value_width);
    attend_block(p, b, h, t, key_columns[static_cast<size_t>(b * p.kv_heads + p.kv_head(h))], state,
                 out, lse.as<A>() + head * p.queries + t);
  });
}

template <typename T>
void attend_narrow(const AttentionShape& p, View out, View lse) {
  for_each_wide_group<T>(p, p.group_cost() / 8, [&](const WideGroup<T>& group) {
    const View to = group.of_queries(out);
    const F32Copy wide_out(to.shape);
    attend<float>(group.problem(), wide_out.view(), group.of_queries(lse));
    narrow_heads<T>(wide_out, to);
  });
}

}  // namespace

void CpuBackend::attention(ConstView q, ConstView k, ConstView v, ConstView mask,
                           const AttentionOptions& options, View out, View lse) const {
  if (q.dtype == DType::f64) return attend<double>({q, k, v, mask, options}, out, lse);
  if (q.dtype == DType::f32 && q.size(2) == 1 && k.size(1) > 0)
    return attend_one_query(q, k, v, mask, options, out, lse);
  if (q.dtype == DType::f32) return attend<float>({q, k, v, mask, options}, out, lse);
  if (q.dtype == DType::bf16 && bf16_.attention != nullptr && fills_tiles(q, k))
    return bf16_.attention(q, k, v, mask, options, out, lse);
  const AttentionShape problem(q, k, v, mask, options);
  q.dtype == DType::bf16 ? attend_narrow<bf16>(problem, out, lse)
                         : attend_narrow<f16>(problem, out, lse);
}

}  // namespace tapir::TAPIR_ISA
