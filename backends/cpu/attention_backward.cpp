// The gradient of attention, from the saved log-sum-exp of each row.
#include "backends/cpu/attention.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/wide_heads.h"

namespace tapir::TAPIR_ISA {
namespace {

// The memory of one worker: a tile of probabilities, one of score gradients, for each row the inner
// product of the output and its gradient, and the transposes of a head's keys and values.
template <typename A>
struct BackwardState {
  A *probabilities, *score_grads, *delta, *product_memory, *transposed;
  cpu::BlasMatrix<const A> key_columns{}, value_columns{};

  static int64_t size(const AttentionProblem<A>& p) {
    const int64_t transposed_size =
        p.transposes() ? (p.width + p.value_width) * p.transposed_step() : 0;
    return kQueryBlock * (2 * kKeyBlock + 1) + p.product_memory() + transposed_size;
  }
  BackwardState(A* memory, const AttentionProblem<A>& p)
      : probabilities(memory),
        score_grads(probabilities + kQueryBlock * kKeyBlock),
        delta(score_grads + kQueryBlock * kKeyBlock),
        product_memory(delta + kQueryBlock),
        transposed(product_memory + p.product_memory()) {}

  void transpose_head(const AttentionProblem<A>& p, int64_t b, int64_t kv) {
    key_columns = p.columns_of(p.k, b, kv, transposed);
    value_columns = p.columns_of(p.v, b, kv, transposed + p.width * p.transposed_step());
  }
};

template <typename A>
struct Gradients {
  ConstView grad, out, lse;
  View dq, dk, dv;
};

template <typename A>
cpu::BlasMatrix<const A> transpose(cpu::BlasMatrix<const A> x) {
  return {x.data, x.ld, !x.transposed};
}

// With P the probabilities, dP = grad V^T and delta = rowsum(grad * out):
// dS = scale P (dP - delta); dV = P^T grad, dQ = dS K, dK = dS^T Q.
template <typename A>
void backward_tile(const AttentionProblem<A>& p, const Gradients<A>& g, int64_t b, int64_t h,
                   int64_t t, int64_t tile_rows, int64_t s, int64_t columns,
                   const BackwardState<A>& state) {
  const int64_t kv = p.kv_head(h);
  const A scale = static_cast<A>(p.options.scale);
  const A* lse = g.lse.template as<A>() + (b * p.heads + h) * p.queries + t;
  const cpu::BlasMatrix<const A> grad = p.rows(g.grad, b, h, t);
  p.score_tile(b, h, t, tile_rows, s, columns, state.key_columns, state.probabilities,
               state.product_memory);
  product<A>(tile_rows, p.padded_columns(state.value_columns, columns), p.value_width, A(1), grad,
             p.from_column(state.value_columns, s), A(0), {state.score_grads, kKeyBlock},
             state.product_memory);
  for (int64_t r = 0; r < tile_rows; ++r) {
    A* row = state.probabilities + r * kKeyBlock;
    A* row_grad = state.score_grads + r * kKeyBlock;
    const bool empty = lse[r] == -std::numeric_limits<A>::infinity();
    const A shift = empty ? A(0) : lse[r], delta = state.delta[r];
    const int64_t seen = padded(p.visible_columns(t + r, s, columns));
#pragma omp simd
    for (int64_t j = 0; j < seen; ++j) {
      row[j] = scalar::exp(row[j] - shift);
      row_grad[j] = scale * row[j] * (row_grad[j] - delta);
    }
    if (seen < columns) {
      std::fill(row + seen, row + columns, A(0));
      std::fill(row_grad + seen, row_grad + columns, A(0));
    }
  }
  const cpu::BlasMatrix<const A> probabilities{state.probabilities, kKeyBlock};
  const cpu::BlasMatrix<const A> score_grads{state.score_grads, kKeyBlock};
  product<A>(columns, p.value_width, tile_rows, A(1), transpose(probabilities), grad, A(1),
             p.rows(g.dv, b, kv, s), state.product_memory);
  product<A>(columns, p.width, tile_rows, A(1), transpose(score_grads), p.rows(p.q, b, h, t), A(1),
             p.rows(g.dk, b, kv, s), state.product_memory);
  product<A>(tile_rows, p.width, columns, A(1), score_grads, p.rows(p.k, b, kv, s), A(1),
             p.rows(g.dq, b, h, t), state.product_memory);
}

template <typename A>
void backward_block(const AttentionProblem<A>& p, const Gradients<A>& g, int64_t b, int64_t h,
                    int64_t t, const BackwardState<A>& state) {
  const int64_t tile_rows = std::min(kQueryBlock, p.queries - t), width = p.value_width;
  const cpu::BlasMatrix<const A> grad = p.rows(g.grad, b, h, t), out = p.rows(g.out, b, h, t);
  for (int64_t r = 0; r < tile_rows; ++r) {
    const A* x = grad.data + r * grad.ld;
    const A* y = out.data + r * out.ld;
    state.delta[r] = lane_sum<A>(width, [=](int64_t j) { return x[j] * y[j]; });
  }
  const int64_t seen = p.visible(t + tile_rows - 1);
  for (int64_t s = 0; s < seen; s += kKeyBlock)
    backward_tile(p, g, b, h, t, tile_rows, s, std::min(kKeyBlock, seen - s), state);
}

// One item is a key and value head with all query heads that share it, so that their gradients
// are added in a fixed order.
template <typename A>
void attend_backward(const AttentionProblem<A>& p, const Gradients<A>& g) {
  if (p.batch * p.heads == 0) return;
  if constexpr (std::is_same_v<A, double>) cpu::load_blas();
  const int64_t state_size = BackwardState<A>::size(p);
  const cpu::Scratch<A> memory(cpu::threads() * state_size);
  const int64_t group = p.group();
  cpu::parallel_for(p.batch * p.kv_heads, p.group_cost() / 4, [&](int64_t item, int worker) {
    const int64_t b = item / p.kv_heads, kv = item % p.kv_heads;
    BackwardState<A> state(memory.data() + worker * state_size, p);
    state.transpose_head(p, b, kv);
    std::fill_n(p.rows(g.dk, b, kv, 0).data, p.keys * p.width, A(0));
    std::fill_n(p.rows(g.dv, b, kv, 0).data, p.keys * p.value_width, A(0));
    for (int64_t h = kv * group; h < (kv + 1) * group; ++h) {
      std::fill_n(p.rows(g.dq, b, h, 0).data, p.queries * p.width, A(0));
      for (int64_t t = 0; t < p.queries; t += kQueryBlock) backward_block(p, g, b, h, t, state);
    }
  });
}

template <typename T>
void attend_backward_narrow(const AttentionShape& p, const Gradients<float>& g) {
  for_each_wide_group<T>(p, p.group_cost() / 4, [&](const WideGroup<T>& group) {
    const AttentionProblem<float> problem = group.problem();
    const WideHeads<T> grad(group.of_queries(g.grad)), out(group.of_queries(g.out));
    const F32Copy dq(problem.q.shape), dk(problem.k.shape), dv(problem.v.shape);
    attend_backward<float>(problem, {grad.view(), out.view(), group.of_queries(g.lse), dq.view(),
                                     dk.view(), dv.view()});
    narrow_heads<T>(dq, group.of_queries(g.dq));
    narrow_heads<T>(dk, group.of_keys(g.dk));
    narrow_heads<T>(dv, group.of_keys(g.dv));
  });
}

}  // namespace

void CpuBackend::attention_backward(ConstView grad, ConstView q, ConstView k, ConstView v,
                                    ConstView mask, ConstView out, ConstView lse,
                                    const AttentionOptions& options, View dq, View dk,
                                    View dv) const {
  if (q.dtype == DType::f64)
    return attend_backward<double>({q, k, v, mask, options}, {grad, out, lse, dq, dk, dv});
  if (q.dtype == DType::f32)
    return attend_backward<float>({q, k, v, mask, options}, {grad, out, lse, dq, dk, dv});
  if (q.dtype == DType::bf16 && bf16_.attention_backward != nullptr && fills_tiles(q, k))
    return bf16_.attention_backward(grad, q, k, v, mask, out, lse, options, dq, dk, dv);
  const Gradients<float> gradients{grad, out, lse, dq, dk, dv};
  const AttentionShape problem(q, k, v, mask, options);
  q.dtype == DType::bf16 ? attend_backward_narrow<bf16>(problem, gradients)
                         : attend_backward_narrow<f16>(problem, gradients);
}

}  // namespace tapir::TAPIR_ISA
