// Distributions from Philox bits, the same on every device: element i of a tensor draws from word
// i % 4 of block offset + i / 4. Computed in f64, so that f32 and f64 tensors hold the same numbers
// up to rounding.
#pragma once

#include <cmath>

#include "backends/backend.h"
#include "backends/philox.h"

namespace tapir {

// A standard normal number from two random words. Source: Box and Muller 1958, "A note on the
// generation of random normal deviates".
TAPIR_HOST_DEVICE inline double box_muller(uint32_t first, uint32_t second) {
  constexpr double kTwoPi = 6.28318530717958647693, kScale = 1.0 / 4294967296;
  const double radius = std::sqrt(-2.0 * std::log((first + 1.0) * kScale));  // first on (0, 1]
  return radius * std::cos(kTwoPi * (second * kScale));
}

// A standard normal number cut at +-bound by rejection; try number t takes its two words from
// streams 2t and 2t + 1. For bounds below 1, where few normal numbers would pass, the proposals
// are uniform on [-bound, bound] and pass with probability exp(-z^2 / 2). Source: Robert 1995,
// "Simulation of truncated normal variables".
TAPIR_HOST_DEVICE inline double truncated_normal(uint64_t seed, uint64_t counter, int word,
                                                 double bound) {
  constexpr double kScale = 1.0 / 4294967296;
  for (uint64_t stream = 0;; stream += 2) {
    const uint32_t first = philox(seed, counter, stream).word[word];
    const uint32_t second = philox(seed, counter, stream + 1).word[word];
    if (bound < 1) {
      const double z = bound * (2 * (first * kScale) - 1);
      if (second * kScale < std::exp(-0.5 * z * z)) return z;
    } else {
      const double z = box_muller(first, second);
      if (!(std::fabs(z) > bound)) return z;
    }
  }
}

// Element i of a random tensor; `bound` counts for truncated_normal only.
TAPIR_HOST_DEVICE inline double random_element(RandomKind kind, uint64_t seed, uint64_t offset,
                                               int64_t i, double bound) {
  const uint64_t counter = offset + static_cast<uint64_t>(i) / 4;
  const int word = static_cast<int>(i % 4);
  switch (kind) {
    case RandomKind::uniform:
      return uniform24(philox(seed, counter).word[word]);
    case RandomKind::normal:
      return box_muller(philox(seed, counter).word[word], philox(seed, counter, 1).word[word]);
    case RandomKind::truncated_normal:
      return truncated_normal(seed, counter, word, bound);
  }
  return 0;
}

}  // namespace tapir
