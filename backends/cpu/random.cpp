// Random tensors and dropout.
#include "backends/random.h"

#include <cmath>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {
namespace {

constexpr int64_t kPiece = 4096;  // a multiple of the four words of a block

// The words of `count` blocks, counted from `first`.
void random_words(uint64_t seed, uint64_t first, int64_t count, uint32_t* words) {
#pragma omp simd
  for (int64_t block = 0; block < count; ++block) {
    const PhiloxBlock bits = philox(seed, first + static_cast<uint64_t>(block));
    words[4 * block] = bits.word[0];
    words[4 * block + 1] = bits.word[1];
    words[4 * block + 2] = bits.word[2];
    words[4 * block + 3] = bits.word[3];
  }
}

}  // namespace

void CpuBackend::random(RandomKind kind, uint64_t seed, uint64_t offset, double bound,
                        View out) const {
  dispatch_floating(out.dtype, "random", [&]<typename T>() {
    T* to = out.as<T>();
    cpu::parallel_pieces(out.numel(), kPiece, 100, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        to[i] = narrow<T>(static_cast<Accum<T>>(random_element(kind, seed, offset, i, bound)));
      }
    });
  });
}

void CpuBackend::dropout(ConstView x, double p, uint64_t seed, uint64_t offset, View out) const {
  // uniform24(word) >= p, in integers.
  const auto threshold = static_cast<uint32_t>(std::ceil(p * 16777216.0));
  dispatch_floating(x.dtype, "dropout", [&]<typename T>() {
    using A = Accum<T>;
    const T* from = x.as<T>();
    T* to = out.as<T>();
    const A scale = static_cast<A>(1 / (1 - p));
    cpu::parallel_pieces(x.numel(), kPiece, 8, [&](int64_t, int64_t begin, int64_t end) {
      uint32_t words[kPiece];
      random_words(seed, offset + static_cast<uint64_t>(begin) / 4, (end - begin + 3) / 4, words);
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const A kept = widen(from[i]) * scale;
        to[i] = narrow<T>(words[i - begin] >> 8 >= threshold ? kept : A(0));
      }
    });
  });
}

}  // namespace tapir::TAPIR_ISA
