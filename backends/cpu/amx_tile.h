// The tile registers of AMX, and a twin of them in plain C++ that rounds alike, bit for bit: code
// written with them is tested on processors without AMX. Source: Intel 64 and IA-32 Architectures
// Software Developer's Manual, volume 2, TDPBF16PS.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "backends/dtype.h"

namespace tapir::TAPIR_ISA {

// A tile is 16 rows of 64 bytes: 16 floats of a result, or 16 pairs of bf16 of an operand.
inline constexpr int kTileSide = 16;

// load, store and their steps from row to row are in bytes. multiply_add<C, A, B> adds to element
// (i, j) of C the sum over the pairs p of the two products A(i, p) B(p, j). First and second
// products are summed up apart, each multiplication with addition rounded once, then the two sums
// are added, and the result to C. Numbers below the normal ones count as zero everywhere.

#ifdef __AMX_BF16__

class Tiles {
 public:
  Tiles() {
    Config config;
    asm volatile("ldtilecfg %0" ::"m"(config));
  }
  ~Tiles() { asm volatile("tilerelease"); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;

  template <int Tile>
  void zero() {
    asm volatile("tilezero %%tmm%c0" ::"i"(Tile));
  }
  template <int Tile>
  void load(const void* from, int64_t step) {
    asm volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(from), "r"(step), "i"(Tile) : "memory");
  }
  template <int Tile>
  void store(void* to, int64_t step) {
    asm volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(to), "r"(step), "i"(Tile) : "memory");
  }
  template <int C, int A, int B>
  void multiply_add() {
    asm volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(C), "i"(A), "i"(B));
  }

 private:
  // All eight tiles have the full size.
  struct Config {
    uint8_t palette = 1, start_row = 0;
    uint8_t reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  static_assert(sizeof(Config) == 64);
};

#else

class Tiles {
 public:
  template <int Tile>
  void zero() {
    std::memset(tiles_[Tile], 0, sizeof(tiles_[Tile]));
  }
  template <int Tile>
  void load(const void* from, int64_t step) {
    for (int i = 0; i < kTileSide; ++i)
      std::memcpy(tiles_[Tile][i], static_cast<const char*>(from) + i * step, 64);
  }
  template <int Tile>
  void store(void* to, int64_t step) {
    for (int i = 0; i < kTileSide; ++i)
      std::memcpy(static_cast<char*>(to) + i * step, tiles_[Tile][i], 64);
  }
  template <int C, int A, int B>
  void multiply_add() {
    for (int i = 0; i < kTileSide; ++i) {
      for (int j = 0; j < kTileSide; ++j) {
        float first = 0, second = 0;
        for (int p = 0; p < kTileSide; ++p) {
          const uint32_t a = tiles_[A][i][p], b = tiles_[B][p][j];
          first = flushed(std::fma(number(a << 16), number(b << 16), first));
          second = flushed(std::fma(number(a & kUpper), number(b & kUpper), second));
        }
        const float sum = flushed(number(tiles_[C][i][j]) + flushed(first + second));
        tiles_[C][i][j] = std::bit_cast<uint32_t>(sum);
      }
    }
  }

 private:
  static constexpr uint32_t kUpper = 0xffff0000u;

  static float flushed(float x) {
    return std::fabs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x;
  }
  static float number(uint32_t bits) { return flushed(std::bit_cast<float>(bits)); }

  uint32_t tiles_[8][kTileSide][kTileSide];
};

#endif

}  // namespace tapir::TAPIR_ISA
