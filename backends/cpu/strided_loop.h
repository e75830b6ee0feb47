// The walk over N strided views of one shape that all elementwise kernels share.
#pragma once

#include <algorithm>
#include <array>
#include <tuple>
#include <type_traits>
#include <utility>

#include "backends/cpu/parallel.h"
#include "backends/view.h"

namespace tapir::TAPIR_ISA {

// Views of one shape, with size-1 axes dropped and neighbouring axes merged where every view
// steps through both as through one. The last axis that remains is the inner one.
template <int N>
struct StridedLoop {
  using Offsets = std::array<int64_t, N>;

  int outer_rank = 0;
  std::array<int64_t, kMaxRank> outer_sizes{};
  std::array<Offsets, kMaxRank> outer_steps{};
  int64_t inner = 1;
  Offsets inner_steps{};

  StridedLoop(const Shape& shape, const std::array<Strides, N>& strides) {
    bool first = true;
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const int64_t size = shape[axis];
      if (size == 1) continue;
      Offsets steps;
      bool merges = !first;
      for (int view = 0; view < N; ++view) {
        steps[view] = strides[view][axis];
        merges = merges && inner_steps[view] == steps[view] * size;
      }
      if (merges) {
        inner *= size;
      } else {
        if (!first) push_inner_outwards();
        inner = size;
      }
      inner_steps = steps;
      first = false;
    }
    if (first) inner_steps.fill(1);  // one element
  }

  int64_t rows() const {
    int64_t count = 1;
    for (int axis = 0; axis < outer_rank; ++axis) count *= outer_sizes[axis];
    return count;
  }

  // Calls body(offsets of the views' elements, number of elements along the inner axis) until
  // every element was covered once.
  template <typename Body>
  void run(int64_t cost_per_element, Body&& body) const {
    constexpr int64_t kPiece = 8192;
    const int64_t row_count = rows();
    if (row_count == 0 || inner == 0) return;
    if (row_count == 1) {
      cpu::parallel_pieces(inner, kPiece, cost_per_element,
                           [&](int64_t, int64_t begin, int64_t end) {
                             Offsets at;
                             for (int view = 0; view < N; ++view)
                               at[view] = begin * inner_steps[view];
                             body(at, end - begin);
                           });
      return;
    }
    const int64_t rows_per_piece = std::max<int64_t>(1, kPiece / inner);
    cpu::parallel_pieces(row_count, rows_per_piece, cost_per_element * inner,
                         [&](int64_t, int64_t begin, int64_t end) { run_rows(begin, end, body); });
  }

 private:
  void push_inner_outwards() {
    outer_sizes[outer_rank] = inner;
    outer_steps[outer_rank] = inner_steps;
    ++outer_rank;
  }

  template <typename Body>
  void run_rows(int64_t begin, int64_t end, Body& body) const {
    std::array<int64_t, kMaxRank> position{};
    Offsets at{};
    int64_t rest = begin;
    for (int axis = outer_rank - 1; axis >= 0; --axis) {
      position[axis] = rest % outer_sizes[axis];
      rest /= outer_sizes[axis];
      for (int view = 0; view < N; ++view) at[view] += position[axis] * outer_steps[axis][view];
    }
    for (int64_t row = begin; row < end; ++row) {
      body(at, inner);
      for (int axis = outer_rank - 1; axis >= 0; --axis) {
        for (int view = 0; view < N; ++view) at[view] += outer_steps[axis][view];
        if (++position[axis] < outer_sizes[axis]) break;
        for (int view = 0; view < N; ++view) at[view] -= position[axis] * outer_steps[axis][view];
        position[axis] = 0;
      }
    }
  }
};

// The elements of one inner run. Consecutive elements and a repeated element have types of their
// own, because compilers make vector code only for those.
template <typename T>
struct Consecutive {
  T* data;
  T& operator[](int64_t i) const { return data[i]; }
};

template <typename T>
struct Repeated {
  T value;
  const T& operator[](int64_t) const { return value; }
};

template <typename T>
struct Stepped {
  T* data;
  int64_t step;
  T& operator[](int64_t i) const { return data[i * step]; }
};

// out[i] = function(in[i]...) for the n elements of a run. An output may be one of the inputs.
template <typename Function, typename Out, typename... In>
inline void map_run(int64_t n, Function function, Out out, In... in) {
#pragma omp simd
  for (int64_t i = 0; i < n; ++i) out[i] = function(in[i]...);
}

// out = function(in...), elementwise over strided views of one shape. O and In are the types that
// the views hold; `cost` is that of one element, for parallel_for.
template <typename O, typename... In, typename Function, typename... Views>
inline void map(int64_t cost, Function function, View out, Views... in) {
  static_assert(sizeof...(In) == sizeof...(Views));
  constexpr int kViews = 1 + static_cast<int>(sizeof...(In));
  const StridedLoop<kViews> loop(out.shape, {out.strides, in.strides...});
  O* const to = static_cast<O*>(out.data);
  const std::tuple<const In*...> from{static_cast<const In*>(in.data)...};
  const auto& step = loop.inner_steps;
  const auto walk = [&]<size_t... I>(std::index_sequence<I...>) {
    const bool consecutive = step[0] == 1 && ((step[I + 1] == 1) && ...);
    loop.run(cost, [&](const auto& at, int64_t n) {
      if (consecutive) {
        map_run(n, function, Consecutive<O>{to + at[0]},
                Consecutive<const In>{std::get<I>(from) + at[I + 1]}...);
        return;
      }
      if constexpr (sizeof...(In) == 2) {  // a row, column or scalar broadcast
        const auto* a = std::get<0>(from) + at[1];
        const auto* b = std::get<1>(from) + at[2];
        using A = std::remove_cvref_t<decltype(*a)>;
        using B = std::remove_cvref_t<decltype(*b)>;
        if (step[0] == 1 && step[1] == 0 && step[2] == 1)
          return map_run(n, function, Consecutive<O>{to + at[0]}, Repeated<A>{*a},
                         Consecutive<const B>{b});
        if (step[0] == 1 && step[1] == 1 && step[2] == 0)
          return map_run(n, function, Consecutive<O>{to + at[0]}, Consecutive<const A>{a},
                         Repeated<B>{*b});
      }
      map_run(n, function, Stepped<O>{to + at[0], step[0]},
              Stepped<const In>{std::get<I>(from) + at[I + 1], step[I + 1]}...);
    });
  };
  walk(std::index_sequence_for<In...>{});
}

}  // namespace tapir::TAPIR_ISA
