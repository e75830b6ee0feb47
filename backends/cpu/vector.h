// A register of floats, as wide as the instruction set has it, for kernels whose loops compilers do
// not turn into good vector code by themselves.
#pragma once

#include <cstdint>
#include <utility>

#include <immintrin.h>

#include "backends/dtype.h"

namespace tapir::TAPIR_ISA {

inline float sum_of(__m256 eight) {
  __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
  four = _mm_add_ps(four, _mm_movehl_ps(four, four));
  return _mm_cvtss_f32(_mm_add_ss(four, _mm_movehdup_ps(four)));
}

#ifdef __AVX512F__

// Masks of ones stand where GCC 12 warns of an uninitialised value in the intrinsic without one.
struct FloatVector {
  static constexpr int kLanes = 16;
  __m512 lanes;

  static FloatVector zero() { return {_mm512_setzero_ps()}; }
  static FloatVector repeat(float x) { return {_mm512_set1_ps(x)}; }
  static FloatVector load(const float* from) { return {_mm512_loadu_ps(from)}; }
  // The first n elements, 0 <= n <= kLanes, and zeros.
  static FloatVector load_first(const float* from, int64_t n) {
    return {_mm512_maskz_loadu_ps(first(n), from)};
  }
  static FloatVector load(const bf16* from) {
    const void* bits = from;
    const __m256i halves = _mm256_loadu_si256(static_cast<const __m256i*>(bits));
    const __m512i bits_of_16 = _mm512_maskz_cvtepu16_epi32(0xffff, halves);
    return {_mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, bits_of_16, 16))};
  }
  void store(float* to) const { _mm512_storeu_ps(to, lanes); }
  void store_first(float* to, int64_t n) const { _mm512_mask_storeu_ps(to, first(n), lanes); }
  float sum() const {
    return sum_of(_mm256_add_ps(_mm512_maskz_extractf32x8_ps(0xff, lanes, 0),
                                _mm512_maskz_extractf32x8_ps(0xff, lanes, 1)));
  }

 private:
  static __mmask16 first(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
};

// Twice as many integers of 16 bits.
struct ShortVector {
  static constexpr int kLanes = 32;
  __m512i lanes;

  static ShortVector load(const int16_t* from) { return {_mm512_loadu_si512(from)}; }
  static ShortVector load(const int8_t* from) {
    const void* bytes = from;
    return {_mm512_cvtepi8_epi16(_mm256_loadu_si256(static_cast<const __m256i*>(bytes)))};
  }
};

// a[2i] b[2i] + a[2i + 1] b[2i + 1] in lane i. Exact as long as its magnitude is at most 2^24.
inline FloatVector pair_products(ShortVector a, ShortVector b) {
  return {_mm512_maskz_cvtepi32_ps(0xffff, _mm512_madd_epi16(a.lanes, b.lanes))};
}

inline FloatVector operator+(FloatVector a, FloatVector b) {
  return {_mm512_add_ps(a.lanes, b.lanes)};
}
inline FloatVector operator*(FloatVector a, FloatVector b) {
  return {_mm512_mul_ps(a.lanes, b.lanes)};
}
// a * b + c, rounded once.
inline FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector c) {
  return {_mm512_fmadd_ps(a.lanes, b.lanes, c.lanes)};
}
// a[0] b[0] a[1] b[1] ... of the first half of the lanes, and of the second.
inline FloatVector interleave_low(FloatVector a, FloatVector b) {
  const __m512i order = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  return {_mm512_permutex2var_ps(a.lanes, order, b.lanes)};
}
inline FloatVector interleave_high(FloatVector a, FloatVector b) {
  const __m512i order =
      _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
  return {_mm512_permutex2var_ps(a.lanes, order, b.lanes)};
}

#else

struct FloatVector {
  static constexpr int kLanes = 8;
  __m256 lanes;

  static FloatVector zero() { return {_mm256_setzero_ps()}; }
  static FloatVector repeat(float x) { return {_mm256_set1_ps(x)}; }
  static FloatVector load(const float* from) { return {_mm256_loadu_ps(from)}; }
  // The first n elements, 0 <= n <= kLanes, and zeros.
  static FloatVector load_first(const float* from, int64_t n) {
    return {_mm256_maskload_ps(from, first(n))};
  }
  static FloatVector load(const bf16* from) {
    const void* bits = from;
    const __m128i halves = _mm_loadu_si128(static_cast<const __m128i*>(bits));
    return {_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16))};
  }
  void store(float* to) const { _mm256_storeu_ps(to, lanes); }
  void store_first(float* to, int64_t n) const { _mm256_maskstore_ps(to, first(n), lanes); }
  float sum() const { return sum_of(lanes); }

 private:
  static __m256i first(int64_t n) {
    const __m256i position = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), position);
  }
};

// Twice as many integers of 16 bits.
struct ShortVector {
  static constexpr int kLanes = 16;
  __m256i lanes;

  static ShortVector load(const int16_t* from) {
    const void* shorts = from;
    return {_mm256_loadu_si256(static_cast<const __m256i*>(shorts))};
  }
  static ShortVector load(const int8_t* from) {
    const void* bytes = from;
    return {_mm256_cvtepi8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(bytes)))};
  }
};

// a[2i] b[2i] + a[2i + 1] b[2i + 1] in lane i. Exact as long as its magnitude is at most 2^24.
inline FloatVector pair_products(ShortVector a, ShortVector b) {
  return {_mm256_cvtepi32_ps(_mm256_madd_epi16(a.lanes, b.lanes))};
}

inline FloatVector operator+(FloatVector a, FloatVector b) {
  return {_mm256_add_ps(a.lanes, b.lanes)};
}
inline FloatVector operator*(FloatVector a, FloatVector b) {
  return {_mm256_mul_ps(a.lanes, b.lanes)};
}
// a * b + c, rounded once.
inline FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector c) {
  return {_mm256_fmadd_ps(a.lanes, b.lanes, c.lanes)};
}
// a[0] b[0] a[1] b[1] ... of the first half of the lanes, and of the second.
inline FloatVector interleave_low(FloatVector a, FloatVector b) {
  return {_mm256_permute2f128_ps(_mm256_unpacklo_ps(a.lanes, b.lanes),
                                 _mm256_unpackhi_ps(a.lanes, b.lanes), 0x20)};
}
inline FloatVector interleave_high(FloatVector a, FloatVector b) {
  return {_mm256_permute2f128_ps(_mm256_unpacklo_ps(a.lanes, b.lanes),
                                 _mm256_unpackhi_ps(a.lanes, b.lanes), 0x31)};
}

#endif

// Calls body(0), ..., body(Count - 1), written out one after the other, so that an array indexed by
// the argument stays in registers. The argument is a constant (std::integral_constant).
template <int Count, typename Body>
[[gnu::always_inline]] inline void unroll(Body body) {
  [&]<int... index>(std::integer_sequence<int, index...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, index>()), ...);
  }
  (std::make_integer_sequence<int, Count>());
}

// Transposes a square of kLanes vectors. Interleaving the halves moves the topmost bit of an
// element's index (row, column) to the bottom; log2(kLanes) times exchange row and column.
inline void transpose_square(FloatVector (&rows)[FloatVector::kLanes]) {
  constexpr int kLanes = FloatVector::kLanes, kHalf = kLanes / 2;
  for (int moved = 1; moved < kLanes; moved *= 2) {
    FloatVector next[kLanes];
    unroll<kHalf>([&](auto i) {
      next[2 * i] = interleave_low(rows[i], rows[i + kHalf]);
      next[2 * i + 1] = interleave_high(rows[i], rows[i + kHalf]);
    });
    unroll<kLanes>([&](auto i) { rows[i] = next[i]; });
  }
}

}  // namespace tapir::TAPIR_ISA
