// Random tensors and dropout.
#include "backends/random.h"

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {
namespace {

constexpr int64_t kPiece = 4096;  // a multiple of the four words of a block

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
  dispatch_floating(x.dtype, "dropout", [&]<typename T>() {
    using A = Accum<T>;
    const T* from = x.as<T>();
    T* to = out.as<T>();
    const A scale = static_cast<A>(1 / (1 - p));
    cpu::parallel_pieces(x.numel(), kPiece, 16, [&](int64_t, int64_t begin, int64_t end) {
      uint32_t words[kPiece];
      const uint64_t first = offset + static_cast<uint64_t>(begin) / 4;
#pragma omp simd
      for (int64_t block = 0; block < (end - begin + 3) / 4; ++block) {
        const PhiloxBlock bits = philox(seed, first + static_cast<uint64_t>(block));
        for (int word = 0; word < 4; ++word) words[4 * block + word] = bits.word[word];
      }
#pragma omp simd
      for (int64_t i = begin; i < end; ++i) {
        const bool keep = uniform24(words[i - begin]) >= p;
        to[i] = keep ? narrow<T>(widen(from[i]) * scale) : narrow<T>(A(0));
      }
    });
  });
}

}  // namespace tapir::TAPIR_ISA
