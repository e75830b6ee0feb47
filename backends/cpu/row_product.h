// One row of weights times a few vectors: what a linear layer does for each of its outputs when
// there are few tokens. Reading the weights takes all the time then, so each is read once, as it
// lies in memory, and used for every vector. A vector's result does not depend on the others.
#pragma once

#include <algorithm>

#include "backends/cpu/vector.h"

namespace tapir::TAPIR_ISA {

// How many vectors share a reading of the weights: with two sums for each, as many as registers
// allow.
inline constexpr int kSharedVectors = 4;

// Products of at most so many vectors read the weights where they are; more are worth packing them.
inline constexpr int64_t kFewRows = 8;

// How many rows of weights make an item of a parallel loop.
inline constexpr int64_t kWeightRows = 16;

// Asks for weights this many bytes before they are needed. Rows follow each other in memory, so
// that the end of one asks for the beginning of the next.
inline constexpr int64_t kPrefetchBytes = 2048;

inline void prefetch(const void* from) {
  __builtin_prefetch(static_cast<const char*>(from) + kPrefetchBytes);
}

// out[i * out_step] = the sum over l of weights[l] x[i * x_step + l], l < k, for i < Vectors.
template <int Vectors, typename T>
inline void row_product(int64_t k, const T* weights, const float* x, int64_t x_step, float* out,
                        int64_t out_step) {
  constexpr int kLanes = FloatVector::kLanes;
  FloatVector even[Vectors], odd[Vectors];
  unroll<Vectors>([&](auto i) { even[i] = odd[i] = FloatVector::zero(); });
  int64_t l = 0;
  for (; l + 2 * kLanes <= k; l += 2 * kLanes) {
    prefetch(weights + l);
    if constexpr (kLanes * sizeof(T) >= 64) prefetch(weights + l + kLanes);
    const FloatVector first = FloatVector::load(weights + l);
    const FloatVector second = FloatVector::load(weights + l + kLanes);
    unroll<Vectors>([&](auto i) {
      const float* from = x + i * x_step + l;
      even[i] = multiply_add(first, FloatVector::load(from), even[i]);
      odd[i] = multiply_add(second, FloatVector::load(from + kLanes), odd[i]);
    });
  }
  if (l + kLanes <= k) {
    const FloatVector first = FloatVector::load(weights + l);
    unroll<Vectors>([&](auto i) {
      even[i] = multiply_add(first, FloatVector::load(x + i * x_step + l), even[i]);
    });
    l += kLanes;
  }
  if (l < k) {
    const int64_t count = k - l;
    float last[kLanes] = {};
    for (int64_t lane = 0; lane < count; ++lane) last[lane] = static_cast<float>(weights[l + lane]);
    const FloatVector first = FloatVector::load(last);
    unroll<Vectors>([&](auto i) {
      even[i] = multiply_add(first, FloatVector::load_first(x + i * x_step + l, count), even[i]);
    });
  }
  unroll<Vectors>([&](auto i) { out[i * out_step] = (even[i] + odd[i]).sum(); });
}

// Calls body with as many vectors as share a reading of the weights, until all had their turn: the
// number as a constant, and the first of them.
template <typename Body>
inline void share_reading(int64_t vectors, Body body) {
  int64_t first = 0;
  for (; first + kSharedVectors <= vectors; first += kSharedVectors)
    body(std::integral_constant<int, kSharedVectors>(), first);
  const int64_t left = vectors - first;
  if (left == 3) body(std::integral_constant<int, 3>(), first);
  if (left == 2) body(std::integral_constant<int, 2>(), first);
  if (left == 1) body(std::integral_constant<int, 1>(), first);
}

// The same for any number of vectors. From the second reading on, the row is in the cache.
template <typename T>
inline void row_products(int64_t vectors, int64_t k, const T* weights, const float* x,
                         int64_t x_step, float* out, int64_t out_step) {
  share_reading(vectors, [&](auto count, int64_t first) {
    row_product<count>(k, weights, x + first * x_step, x_step, out + first * out_step, out_step);
  });
}

}  // namespace tapir::TAPIR_ISA
