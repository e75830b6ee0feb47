// Element access and sums for kernels, in a form that compilers turn into vector code.
#pragma once

#include <cmath>
#include <limits>

#include "backends/dtype.h"

namespace tapir::TAPIR_ISA {

// An element as the type that it is computed with: 16-bit floats are widened.
template <typename T>
inline Accum<T> widen(T value) {
  return static_cast<Accum<T>>(value);
}

template <typename T>
inline T narrow(Accum<T> value) {
  return static_cast<T>(value);
}

// The sum of term(0), ..., term(n - 1) in 16 interleaved partial sums, so that the order of the
// additions does not depend on the vector width.
template <typename A, typename Term>
inline A lane_sum(int64_t n, Term term) {
  constexpr int kLanes = 16;
  A lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += term(i + lane);
  }
  for (int lane = 0; i + lane < n; ++lane) lanes[lane] += term(i + lane);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

// The largest of term(0), ..., term(n - 1), NaNs left out; -inf when there is none.
template <typename A, typename Term>
inline A lane_max(int64_t n, Term term) {
  constexpr int kLanes = 16;
  A lanes[kLanes];
  for (A& lane : lanes) lane = -std::numeric_limits<A>::infinity();
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
#pragma omp simd
    for (int lane = 0; lane < kLanes; ++lane) {
      const A value = term(i + lane);
      lanes[lane] = value > lanes[lane] ? value : lanes[lane];
    }
  }
  for (int lane = 0; i + lane < n; ++lane) {
    const A value = term(i + lane);
    lanes[lane] = value > lanes[lane] ? value : lanes[lane];
  }
  A largest = lanes[0];
  for (A lane : lanes) largest = lane > largest ? lane : largest;
  return largest;
}

}  // namespace tapir::TAPIR_ISA
