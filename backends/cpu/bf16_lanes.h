// Sixteen floats at a time become bf16: with the instructions of AVX512_BF16, or in plain C++ with
// the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/dtype.h"
#ifdef __AVX512BF16__
#include "backends/cpu/vector.h"
#endif

namespace tapir::TAPIR_ISA {

inline constexpr int kLanes = 16;

// Lanes::load_first reads the first n of sixteen numbers, the others become 0; n may be anything.
// round_pairs makes pairs (x[i], y[i]), rounded to nearest, ties to even; numbers below the normal
// ones become zero. rest_of(x, y, pairs) makes the pairs of what the rounding took away.

#ifdef __AVX512BF16__

struct Lanes {
  __m512 lanes;

  static Lanes load_first(const float* from, int64_t n) {
    return {_mm512_maskz_loadu_ps(first(n), from)};
  }
  static Lanes load_first(const bf16* from, int64_t n) {
    const __m256i words = _mm256_maskz_loadu_epi16(first(n), from);
    return {_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16))};
  }

 private:
  static __mmask16 first(int64_t n) {
    return static_cast<__mmask16>((1u << std::clamp<int64_t>(n, 0, kLanes)) - 1);
  }
};

struct Pairs {
  __m512i pairs;

  void store(uint32_t* to) const { _mm512_storeu_si512(to, pairs); }
};

inline Pairs round_pairs(Lanes x, Lanes y) {
  const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24,
                                         8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
  const __m512bh both = _mm512_cvtne2ps_pbh(y.lanes, x.lanes);
  return {_mm512_permutexvar_epi16(order, reinterpret_cast<__m512i>(both))};
}

inline Pairs rest_of(Lanes x, Lanes y, Pairs pairs) {
  const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
  const __m512 first = _mm512_castsi512_ps(_mm512_slli_epi32(pairs.pairs, 16));
  const __m512 second = _mm512_castsi512_ps(_mm512_and_si512(pairs.pairs, upper));
  return round_pairs({_mm512_sub_ps(x.lanes, first)}, {_mm512_sub_ps(y.lanes, second)});
}

inline void transpose_square(Pairs (&rows)[kLanes]) {
  FloatVector square[kLanes];
  unroll<kLanes>([&](auto i) { square[i] = {_mm512_castsi512_ps(rows[i].pairs)}; });
  transpose_square(square);
  unroll<kLanes>([&](auto i) { rows[i] = {_mm512_castps_si512(square[i].lanes)}; });
}

#else

struct Lanes {
  float lanes[kLanes];

  template <typename T>
  static Lanes load_first(const T* from, int64_t n) {
    Lanes x;
    for (int i = 0; i < kLanes; ++i) x.lanes[i] = i < n ? static_cast<float>(from[i]) : 0.0f;
    return x;
  }
};

struct Pairs {
  uint32_t pairs[kLanes];

  void store(uint32_t* to) const { std::copy_n(pairs, kLanes, to); }
};

inline uint32_t rounded_bits(float x) {
  const bool tiny = std::fabs(x) < std::numeric_limits<float>::min();
  return bf16(tiny ? std::copysign(0.0f, x) : x).bits;
}

inline Pairs round_pairs(const Lanes& x, const Lanes& y) {
  Pairs result;
  for (int i = 0; i < kLanes; ++i)
    result.pairs[i] = rounded_bits(x.lanes[i]) | rounded_bits(y.lanes[i]) << 16;
  return result;
}

inline Pairs rest_of(const Lanes& x, const Lanes& y, const Pairs& pairs) {
  Lanes first, second;
  for (int i = 0; i < kLanes; ++i) {
    first.lanes[i] = x.lanes[i] - std::bit_cast<float>(pairs.pairs[i] << 16);
    second.lanes[i] = y.lanes[i] - std::bit_cast<float>(pairs.pairs[i] & 0xffff0000u);
  }
  return round_pairs(first, second);
}

inline void transpose_square(Pairs (&rows)[kLanes]) {
  for (int i = 0; i < kLanes; ++i)
    for (int j = 0; j < i; ++j) std::swap(rows[i].pairs[j], rows[j].pairs[i]);
}

#endif

}  // namespace tapir::TAPIR_ISA
