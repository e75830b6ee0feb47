// Rotary position embedding. Source: Su et al. 2021.
#include "backends/cpu/allocator.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {
namespace {

// Rotates the pairs of one vector. Element j of x is x[j * step]; `direction` is -1 to rotate
// back. Pair i is elements 2i and 2i + 1, or i and i + pairs.
template <typename T>
void rotate(const T* x, int64_t step, const Accum<T>* cos, const Accum<T>* sin, int64_t pairs,
            RopeLayout layout, Accum<T> direction, T* out) {
  using A = Accum<T>;
  const bool interleaved = layout == RopeLayout::interleaved;
  const int64_t next_pair = interleaved ? 2 : 1, partner = interleaved ? 1 : pairs;
  const auto run = [=](int64_t from, int64_t pair, int64_t other) {
#pragma omp simd
    for (int64_t i = 0; i < pairs; ++i) {
      const A first = widen(x[i * pair * from]), second = widen(x[(i * pair + other) * from]);
      const A c = cos[i], s = direction * sin[i];
      out[i * pair] = narrow<T>(first * c - second * s);
      out[i * pair + other] = narrow<T>(first * s + second * c);
    }
  };
  // Constant steps give vector code.
  if (step == 1 && interleaved) return run(1, 2, 1);
  if (step == 1) return run(1, 1, pairs);
  run(step, next_pair, partner);
}

// The same of 16-bit floats that are consecutive, which vector code reads and writes in one piece
// each. `memory` has room for twice as many floats as the vector has.
template <typename T>
void rotate_narrow(const T* x, const float* cos, const float* sin, int64_t pairs, RopeLayout layout,
                   float direction, float* memory, T* out) {
  float* const turned = memory + 2 * pairs;
#pragma omp simd
  for (int64_t i = 0; i < 2 * pairs; ++i) memory[i] = widen(x[i]);
  rotate<float>(memory, 1, cos, sin, pairs, layout, direction, turned);
#pragma omp simd
  for (int64_t i = 0; i < 2 * pairs; ++i) out[i] = narrow<T>(turned[i]);
}

}  // namespace

void CpuBackend::rope(ConstView x, ConstView cos, ConstView sin, ConstView positions,
                      RopeLayout layout, bool inverse, View out) const {
  dispatch_floating(x.dtype, "rope", [&]<typename T>() {
    using A = Accum<T>;
    const int64_t heads = x.size(1), length = x.size(2), width = x.size(3), pairs = width / 2;
    constexpr bool kNarrow = !std::is_same_v<T, A>;
    const cpu::Scratch<A> memory(kNarrow ? cpu::threads() * 2 * width : 0);
    cpu::parallel_for(x.size(0) * heads * length, width * 4, [&](int64_t row, int worker) {
      const int64_t t = row % length, h = row / length % heads, b = row / length / heads;
      const int64_t position =
          positions.as<int32_t>()[b * positions.stride(0) + t * positions.stride(1)];
      const T* from = x.as<T>() + b * x.stride(0) + h * x.stride(1) + t * x.stride(2);
      T* to = out.as<T>() + row * width;
      const A *c = cos.as<A>() + position * pairs, *s = sin.as<A>() + position * pairs;
      const A direction = inverse ? A(-1) : A(1);
      if constexpr (kNarrow) {
        if (x.stride(3) == 1) {
          A* const own = memory.data() + worker * 2 * width;
          return rotate_narrow(from, c, s, pairs, layout, direction, own, to);
        }
      }
      rotate(from, x.stride(3), c, s, pairs, layout, direction, to);
    });
  });
}

}  // namespace tapir::TAPIR_ISA
