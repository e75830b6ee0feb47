// Philox4x32-10, a counter-based random number generator: the bits are a pure function of
// (seed, counter), so any thread or device can make any part of a stream.
// Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.
#pragma once

#include <array>
#include <cstdint>

#if defined(__CUDACC__)
#define TAPIR_HOST_DEVICE __host__ __device__
#else
#define TAPIR_HOST_DEVICE
#endif

namespace tapir {

struct PhiloxBlock {
  uint32_t word[4];
};

// The 128 random bits at position `counter` of sub-stream `stream` of the generator `seed`.
TAPIR_HOST_DEVICE inline PhiloxBlock philox(uint64_t seed, uint64_t counter, uint64_t stream = 0) {
  constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
  uint32_t key0 = static_cast<uint32_t>(seed), key1 = static_cast<uint32_t>(seed >> 32);
  PhiloxBlock c{{static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                 static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)}};
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = static_cast<uint64_t>(kMultiplier0) * c.word[0];
    const uint64_t product1 = static_cast<uint64_t>(kMultiplier1) * c.word[2];
    c = {{static_cast<uint32_t>(product1 >> 32) ^ c.word[1] ^ key0, static_cast<uint32_t>(product1),
          static_cast<uint32_t>(product0 >> 32) ^ c.word[3] ^ key1,
          static_cast<uint32_t>(product0)}};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return c;
}

// Uniform on [0, 1) with 24 bits, so that f32 and f64 hold the same value exactly.
TAPIR_HOST_DEVICE inline double uniform24(uint32_t bits) {
  return (bits >> 8) * (1.0 / 16777216);
}

}  // namespace tapir
