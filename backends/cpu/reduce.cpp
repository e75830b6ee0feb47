// Sums and maxima over any axes of a strided view.
#include <algorithm>
#include <array>
#include <type_traits>

#include "backends/cpu/allocator.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {
namespace {

// What elements of T are reduced in, and what the results of pieces are: integers must not
// overflow on the way, and a float's pieces are added in double.
template <typename T>
using Sum = std::conditional_t<std::is_same_v<T, int32_t>, int64_t, Accum<T>>;
template <typename T>
using Total = std::conditional_t<std::is_same_v<T, int32_t>, int64_t, double>;

template <typename A>
struct Add {
  static constexpr A kStart = A(0);
  static A combine(A a, A b) { return a + b; }
};

template <typename A>
struct Max {
  static constexpr A kStart = std::numeric_limits<A>::has_infinity
                                  ? -std::numeric_limits<A>::infinity()
                                  : std::numeric_limits<A>::lowest();
  static A combine(A a, A b) { return b > a || b != b ? b : a; }  // keeps a NaN
};

// Some axes of a view, neighbours merged where possible.
struct Axes {
  int rank = 0;
  std::array<int64_t, kMaxRank> sizes{}, steps{};

  void add(int64_t size, int64_t step, bool mergeable) {
    if (mergeable && rank > 0 && steps[rank - 1] == size * step) {
      sizes[rank - 1] *= size;
      steps[rank - 1] = step;
    } else {
      sizes[rank] = size;
      steps[rank++] = step;
    }
  }

  void drop_last() { --rank; }

  int64_t count() const {
    int64_t total = 1;
    for (int axis = 0; axis < rank; ++axis) total *= sizes[axis];
    return total;
  }

  // The offset of the index-th combination in row-major order.
  int64_t offset(int64_t index) const {
    int64_t total = 0;
    for (int axis = rank - 1; axis > 0; --axis) {
      total += index % sizes[axis] * steps[axis];
      index /= sizes[axis];
    }
    return rank == 0 ? 0 : total + index * steps[0];
  }
};

// The axes of x that stay and those that are reduced, without the axes of size 1.
struct Plan {
  Axes kept, reduced;
  bool last_is_kept = true;

  Plan(ConstView x, const Shape& out) {
    bool previous = false;
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (x.shape[axis] == 1) continue;
      const bool keep = out[axis] != 1;
      Axes& axes = keep ? kept : reduced;
      axes.add(x.shape[axis], x.strides[axis], axes.rank > 0 && keep == previous);
      last_is_kept = previous = keep;
    }
  }
};

// Reduces n elements in interleaved lanes, so that the order does not depend on the vector width.
template <template <typename> class Op, typename T, typename Step>
Sum<T> reduce_run(const T* x, Step step, int64_t n) {
  using A = Sum<T>;
  constexpr int kLanes = 16;
  A lanes[kLanes];
  for (A& lane : lanes) lane = Op<A>::kStart;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int lane = 0; lane < kLanes; ++lane)
      lanes[lane] = Op<A>::combine(lanes[lane], static_cast<A>(widen(x[(i + lane) * step])));
  }
  for (int lane = 0; i + lane < n; ++lane)
    lanes[lane] = Op<A>::combine(lanes[lane], static_cast<A>(widen(x[(i + lane) * step])));
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane)
      lanes[lane] = Op<A>::combine(lanes[lane], lanes[lane + width]);
  }
  return lanes[0];
}

// The last axis is reduced: each output is a sum of pieces of at most kPiece elements.
template <template <typename> class Op, typename T>
void reduce_rows(const T* x, Plan plan, T* out) {
  constexpr int64_t kPiece = 4096;
  const int64_t length = plan.reduced.sizes[plan.reduced.rank - 1];
  const int64_t step = plan.reduced.steps[plan.reduced.rank - 1];
  plan.reduced.drop_last();
  const int64_t outputs = plan.kept.count();
  const int64_t pieces_per_run = std::max<int64_t>(1, (length + kPiece - 1) / kPiece);
  const int64_t pieces = plan.reduced.count() * pieces_per_run;
  const auto reduce_piece = [&](int64_t output, int64_t piece) {
    const int64_t begin = piece % pieces_per_run * kPiece;
    const int64_t n = std::min(kPiece, length - begin);
    const T* from =
        x + plan.kept.offset(output) + plan.reduced.offset(piece / pieces_per_run) + begin * step;
    return step == 1 ? reduce_run<Op, T>(from, std::integral_constant<int64_t, 1>(), n)
                     : reduce_run<Op, T>(from, step, n);
  };
  using Combine = Op<Total<T>>;
  const int64_t cost = std::min(kPiece, length) + 8;
  if (outputs >= 2 * cpu::threads() || pieces == 1) {
    cpu::parallel_for(outputs, pieces * cost, [&](int64_t output) {
      Total<T> total = Combine::kStart;
      for (int64_t piece = 0; piece < pieces; ++piece)
        total = Combine::combine(total, static_cast<Total<T>>(reduce_piece(output, piece)));
      out[output] = narrow<T>(static_cast<Accum<T>>(total));
    });
    return;
  }
  // Few outputs: the pieces run in parallel and are combined in the same order as above.
  const cpu::Scratch<Total<T>> partial(outputs * pieces);
  cpu::parallel_for(outputs * pieces, cost, [&](int64_t item) {
    partial.data()[item] = static_cast<Total<T>>(reduce_piece(item / pieces, item % pieces));
  });
  for (int64_t output = 0; output < outputs; ++output) {
    Total<T> total = Combine::kStart;
    for (int64_t piece = 0; piece < pieces; ++piece)
      total = Combine::combine(total, partial.data()[output * pieces + piece]);
    out[output] = narrow<T>(static_cast<Accum<T>>(total));
  }
}

// The last axis stays: rows of outputs are added up column by column. The rows to add are cut
// into at most 64 chunks, fixed by their number, whose sums are then combined in order.
template <template <typename> class Op, typename T>
void reduce_columns(const T* x, Plan plan, T* out) {
  using A = Sum<T>;
  constexpr int64_t kColumns = 256, kMaxChunks = 64, kMinChunkRows = 32;
  const int64_t width = plan.kept.sizes[plan.kept.rank - 1];
  const int64_t step = plan.kept.steps[plan.kept.rank - 1];
  plan.kept.drop_last();
  const int64_t outputs = plan.kept.count(), rows = plan.reduced.count();
  const int64_t chunk_rows = std::max(kMinChunkRows, (rows + kMaxChunks - 1) / kMaxChunks);
  const int64_t chunks = std::max<int64_t>(1, (rows + chunk_rows - 1) / chunk_rows);
  const int64_t blocks = (width + kColumns - 1) / kColumns;
  const cpu::Scratch<A> partial(outputs * chunks * width);
  cpu::parallel_for(
      outputs * chunks * blocks, std::min(rows, chunk_rows) * std::min(width, kColumns),
      [&](int64_t item) {
        const int64_t block = item % blocks, chunk = item / blocks % chunks;
        const int64_t output = item / blocks / chunks;
        const int64_t begin = block * kColumns, n = std::min(kColumns, width - begin);
        A sum[kColumns];
        std::fill_n(sum, n, Op<A>::kStart);
        const T* from = x + plan.kept.offset(output) + begin * step;
        for (int64_t row = chunk * chunk_rows; row < std::min(rows, (chunk + 1) * chunk_rows);
             ++row) {
          const T* values = from + plan.reduced.offset(row);
          if (step == 1) {
#pragma omp simd
            for (int64_t c = 0; c < n; ++c)
              sum[c] = Op<A>::combine(sum[c], static_cast<A>(widen(values[c])));
          } else {
            for (int64_t c = 0; c < n; ++c)
              sum[c] = Op<A>::combine(sum[c], static_cast<A>(widen(values[c * step])));
          }
        }
        std::copy_n(sum, n, partial.data() + (output * chunks + chunk) * width + begin);
      });
  cpu::parallel_for(outputs, chunks * width, [&](int64_t output) {
    const A* sums = partial.data() + output * chunks * width;
    for (int64_t c = 0; c < width; ++c) {
      A total = sums[c];
      for (int64_t chunk = 1; chunk < chunks; ++chunk)
        total = Op<A>::combine(total, sums[chunk * width + c]);
      out[output * width + c] = narrow<T>(static_cast<Accum<T>>(total));
    }
  });
}

template <template <typename> class Op, typename T>
void reduce_all(ConstView x, View out) {
  if (out.numel() == 0) return;
  T* to = out.as<T>();
  if (x.numel() == 0) {
    std::fill_n(to, out.numel(), narrow<T>(Op<Accum<T>>::kStart));
    return;
  }
  Plan plan(x, out.shape);
  if (plan.reduced.rank == 0) plan.reduced.add(1, 1, false);  // one element per output
  if (plan.last_is_kept && plan.kept.rank > 0) {
    reduce_columns<Op, T>(x.as<T>(), plan, to);
  } else {
    reduce_rows<Op, T>(x.as<T>(), plan, to);
  }
}

}  // namespace

void CpuBackend::reduce(ReduceOp op, ConstView x, View out) const {
  const auto run = [&]<typename T>() {
    op == ReduceOp::sum ? reduce_all<Add, T>(x, out) : reduce_all<Max, T>(x, out);
  };
  if (x.dtype == DType::i32) return run.template operator()<int32_t>();
  dispatch_floating(x.dtype, "reduce", run);
}

}  // namespace tapir::TAPIR_ISA
