// Sixteen floats at a time become bf16, and sixteen pairs of bf16 are put together: with the
// instructions of AVX512_BF16, or in plain C++ with the same bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/cpu/vector.h"
#include "backends/dtype.h"

namespace tapir::TAPIR_ISA {

inline constexpr int kPairLanes = 16;

// Lanes::load_first reads the first n of sixteen numbers, the others become 0; n may be anything.
// round_pairs makes pairs (x[i], y[i]), rounded to nearest, ties to even; numbers below the normal
// ones become zero. rest_of(x, y, pairs) makes the pairs of what the rounding took away.
//
// Of bf16, neighbour_pairs makes the pairs (x[2i], x[2i + 1]) of the first n numbers, join_pairs
// the pairs (x[i], y[i]) of the first n of x and the first m of y; the others are 0. round_line
// rounds the first n of 32 floats; numbers below the normal ones may become zero.

#ifdef __AVX512BF16__

struct Lanes {
  __m512 lanes;

  static Lanes load_first(const float* from, int64_t n) {
    return {_mm512_maskz_loadu_ps(first(n), from)};
  }

 private:
  static __mmask16 first(int64_t n) {
    return static_cast<__mmask16>((1u << std::clamp<int64_t>(n, 0, kPairLanes)) - 1);
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

inline __mmask32 first_words(int64_t n) {
  return static_cast<__mmask32>((uint64_t{1} << std::clamp<int64_t>(n, 0, 2 * kPairLanes)) - 1);
}

inline Pairs neighbour_pairs(const bf16* x, int64_t n) {
  return {_mm512_maskz_loadu_epi16(first_words(n), x)};
}

// Masks of ones stand where GCC 12 warns of an uninitialised value in the intrinsic without one.
inline Pairs join_pairs(const bf16* x, int64_t n, const bf16* y, int64_t m) {
  const auto widened = [](const bf16* from, int64_t count) {
    const auto mask = static_cast<__mmask16>(first_words(count));
    return _mm512_maskz_cvtepu16_epi32(0xffff, _mm256_maskz_loadu_epi16(mask, from));
  };
  const __m512i upper = _mm512_maskz_slli_epi32(0xffff, widened(y, m), 16);
  return {_mm512_or_si512(widened(x, n), upper)};
}

inline void round_line(const float* from, int64_t n, bf16* to) {
  const __m512bh both =
      _mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + kPairLanes), _mm512_loadu_ps(from));
  _mm512_mask_storeu_epi16(to, first_words(n), reinterpret_cast<__m512i>(both));
}

inline void transpose_square(Pairs (&rows)[kPairLanes]) {
  FloatVector square[kPairLanes];
  unroll<kPairLanes>([&](auto i) { square[i] = {_mm512_castsi512_ps(rows[i].pairs)}; });
  transpose_square(square);
  unroll<kPairLanes>([&](auto i) { rows[i] = {_mm512_castps_si512(square[i].lanes)}; });
}

#else

struct Lanes {
  float lanes[kPairLanes];

  static Lanes load_first(const float* from, int64_t n) {
    Lanes x;
    for (int i = 0; i < kPairLanes; ++i) x.lanes[i] = i < n ? from[i] : 0.0f;
    return x;
  }
};

struct Pairs {
  uint32_t pairs[kPairLanes];

  void store(uint32_t* to) const { std::copy_n(pairs, kPairLanes, to); }
};

inline uint32_t rounded_bits(float x) {
  const bool tiny = std::fabs(x) < std::numeric_limits<float>::min();
  return bf16(tiny ? std::copysign(0.0f, x) : x).bits;
}

inline Pairs round_pairs(const Lanes& x, const Lanes& y) {
  Pairs result;
  for (int i = 0; i < kPairLanes; ++i)
    result.pairs[i] = rounded_bits(x.lanes[i]) | rounded_bits(y.lanes[i]) << 16;
  return result;
}

inline Pairs rest_of(const Lanes& x, const Lanes& y, const Pairs& pairs) {
  Lanes first, second;
  for (int i = 0; i < kPairLanes; ++i) {
    first.lanes[i] = x.lanes[i] - std::bit_cast<float>(pairs.pairs[i] << 16);
    second.lanes[i] = y.lanes[i] - std::bit_cast<float>(pairs.pairs[i] & 0xffff0000u);
  }
  return round_pairs(first, second);
}

inline Pairs neighbour_pairs(const bf16* x, int64_t n) {
  Pairs result;
  for (int i = 0; i < kPairLanes; ++i) {
    const uint32_t first = 2 * i < n ? x[2 * i].bits : 0;
    const uint32_t second = 2 * i + 1 < n ? x[2 * i + 1].bits : 0;
    result.pairs[i] = first | second << 16;
  }
  return result;
}

inline Pairs join_pairs(const bf16* x, int64_t n, const bf16* y, int64_t m) {
  Pairs result;
  for (int i = 0; i < kPairLanes; ++i) {
    const uint32_t first = i < n ? x[i].bits : 0, second = i < m ? y[i].bits : 0;
    result.pairs[i] = first | second << 16;
  }
  return result;
}

inline void round_line(const float* from, int64_t n, bf16* to) {
  for (int64_t i = 0; i < std::min<int64_t>(n, 2 * kPairLanes); ++i) to[i] = bf16(from[i]);
}

inline void transpose_square(Pairs (&rows)[kPairLanes]) {
  for (int i = 0; i < kPairLanes; ++i)
    for (int j = 0; j < i; ++j) std::swap(rows[i].pairs[j], rows[j].pairs[i]);
}

#endif

}  // namespace tapir::TAPIR_ISA
