// The softmax of a row that comes in parts. Source: Milakov and Gimelshein 2018, "Online normalizer
// calculation for softmax".
#pragma once

#include <algorithm>

#include "backends/cpu/lanes.h"
#include "backends/scalar_math.h"

namespace tapir::TAPIR_ISA {

// Turns n scores into exp(score - maximum so far), and returns the factor by which sums over
// earlier parts shrink as the maximum grows.
template <typename A>
A update_row(A* row, int64_t n, A& largest, A& sum) {
  constexpr A kHidden = -std::numeric_limits<A>::infinity();
  const A highest = std::max(largest, lane_max<A>(n, [=](int64_t j) { return row[j]; }));
  const A shift = highest == kHidden ? A(0) : highest;  // nothing seen yet: exp(-inf) gives zeros
  const A factor = scalar::exp(largest - shift);
  sum = sum * factor +
        lane_sum<A>(n, [=](int64_t j) { return row[j] = scalar::exp(row[j] - shift); });
  largest = highest;
  return factor;
}

}  // namespace tapir::TAPIR_ISA
