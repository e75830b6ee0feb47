// Sums and maxima over any axes of a strided view. Long reductions are cut into chunks whose
// results are reduced again, so the order of the additions depends on the shape alone.
#include "backends/cuda/device.h"

namespace tapir::cuda {
namespace {

constexpr int64_t kRowChunk = 4096;     // elements that one warp reduces
constexpr int64_t kColumnChunk = 64;    // rows that one thread adds up, at least
constexpr int64_t kColumnChunks = 128;  // and in so many chunks at most

// What elements of T are reduced in: integers must not overflow on the way.
template <typename T>
struct SumOf {
  using type = Accum<T>;
};
template <>
struct SumOf<int32_t> {
  using type = int64_t;
};
template <typename T>
using Sum = typename SumOf<T>::type;

template <typename A>
struct Combine {
  ReduceOp op;

  __device__ A start() const {
    if (op == ReduceOp::sum) return A(0);
    if constexpr (std::numeric_limits<A>::has_infinity) return -infinity<A>();
    return std::numeric_limits<A>::lowest();
  }
  __device__ A operator()(A a, A b) const {
    if (op == ReduceOp::sum) return a + b;
    return b > a || b != b ? b : a;  // keeps a NaN
  }
};

// The axes of x that stay and those that are reduced.
struct Plan {
  Axes kept, reduced;
  bool last_is_kept = false;

  Plan() = default;
  Plan(ConstView x, const Shape& out) {
    bool previous = false;
    for (int axis = 0; axis < x.rank(); ++axis) {
      if (x.shape[axis] == 1) continue;
      const bool keep = out[axis] != 1;
      (keep ? kept : reduced).add(x.shape[axis], x.strides[axis], keep == previous);
      last_is_kept = previous = keep;
    }
  }
};

template <typename O, typename A>
__device__ O result(A value) {
  if constexpr (std::is_same_v<O, int32_t>) {
    return static_cast<int32_t>(value);
  } else {
    return narrow<O>(value);
  }
}

// Reduced elements lie close together: a warp per chunk of an output.
template <typename T, typename O>
__global__ void reduce_rows_kernel(ReduceOp op, const T* x, const __grid_constant__ Axes kept,
                                   const __grid_constant__ Axes reduced, int64_t length,
                                   int64_t chunks, int64_t items, O* out) {
  using A = Sum<T>;
  const int64_t item = warp_item();
  if (item >= items) return;
  const Combine<A> combine{op};
  const int64_t begin = item % chunks * kRowChunk;
  const int64_t end = std::min(begin + kRowChunk, length);
  const T* from = x + kept.offset(item / chunks);
  A total = combine.start();
  for (int64_t i = begin + lane_index(); i < end; i += kWarp)
    total = combine(total, static_cast<A>(widen(from[reduced.offset(i)])));
  total = warp_reduce(total, combine);
  if (lane_index() == 0) out[item] = result<O>(total);
}

// Neighbouring outputs lie close together: a thread per chunk of an output.
template <typename T, typename O>
__global__ void reduce_columns_kernel(ReduceOp op, const T* x, const __grid_constant__ Axes kept,
                                      const __grid_constant__ Axes reduced, int64_t length,
                                      int64_t chunk_length, int64_t outputs, O* out) {
  using A = Sum<T>;
  const int64_t output = thread_item(), chunk = blockIdx.y;
  if (output >= outputs) return;
  const Combine<A> combine{op};
  const int64_t end = std::min((chunk + 1) * chunk_length, length);
  const T* from = x + kept.offset(output);
  A total = combine.start();
  for (int64_t i = chunk * chunk_length; i < end; ++i)
    total = combine(total, static_cast<A>(widen(from[reduced.offset(i)])));
  out[chunk * outputs + output] = result<O>(total);
}

template <typename T, typename O>
void reduce_rows(ReduceOp op, const T* x, const Plan& plan, O* out) {
  const int64_t outputs = plan.kept.count(), length = plan.reduced.count();
  const int64_t chunks = std::max<int64_t>(1, (length + kRowChunk - 1) / kRowChunk);
  const auto run = [&]<typename P>(P* to) {
    launch(reduce_rows_kernel<T, P>, warps_for(outputs * chunks), op, x, plan.kept, plan.reduced,
           length, chunks, outputs * chunks, to);
  };
  if (chunks == 1) return run(out);
  using A = Sum<T>;
  const Scratch partial(static_cast<size_t>(outputs * chunks) * sizeof(A));
  run(partial.as<A>());
  Plan second;
  second.kept.add(outputs, chunks, false);
  second.reduced.add(chunks, 1, false);
  reduce_rows<A, O>(op, partial.as<A>(), second, out);
}

template <typename T, typename O>
void reduce_columns(ReduceOp op, const T* x, const Plan& plan, O* out) {
  const int64_t outputs = plan.kept.count(), length = plan.reduced.count();
  const int64_t chunk_length = std::max(kColumnChunk, (length + kColumnChunks - 1) / kColumnChunks);
  const int64_t chunks = std::max<int64_t>(1, (length + chunk_length - 1) / chunk_length);
  const auto run = [&]<typename P>(P* to) {
    Grid grid = grid_for(outputs);
    grid.blocks.y = static_cast<unsigned>(chunks);
    launch(reduce_columns_kernel<T, P>, grid, op, x, plan.kept, plan.reduced, length, chunk_length,
           outputs, to);
  };
  if (chunks == 1) return run(out);
  using A = Sum<T>;
  const Scratch partial(static_cast<size_t>(outputs * chunks) * sizeof(A));
  run(partial.as<A>());
  Plan second;
  second.kept.add(outputs, 1, false);
  second.reduced.add(chunks, outputs, false);
  reduce_columns<A, O>(op, partial.as<A>(), second, out);
}

}  // namespace

void CudaBackend::reduce(ReduceOp op, ConstView x, View out) const {
  if (out.numel() == 0) return;
  const auto run = [&]<typename T>() {
    if (x.numel() == 0) {
      const double lowest = x.dtype == DType::i32 ? -2147483648.0 : -HUGE_VAL;
      return fill(op == ReduceOp::sum ? 0.0 : lowest, out);
    }
    const Plan plan(x, out.shape);
    if (plan.last_is_kept) return reduce_columns<T, T>(op, x.as<T>(), plan, out.as<T>());
    reduce_rows<T, T>(op, x.as<T>(), plan, out.as<T>());
  };
  if (x.dtype == DType::i32) return run.template operator()<int32_t>();
  dispatch_floating(x.dtype, "reduce", run);
}

void sum_partial_rows(const void* partial, int64_t rows, int64_t columns, View out) {
  Plan plan;
  plan.kept.add(columns, 1, false);
  plan.reduced.add(rows, columns, false);
  dispatch_floating(out.dtype, "reduce", [&]<typename T>() {
    using A = Accum<T>;
    reduce_columns<A, T>(ReduceOp::sum, static_cast<const A*>(partial), plan, out.as<T>());
  });
}

}  // namespace tapir::cuda
