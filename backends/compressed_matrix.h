// A matrix of weights that may take fewer bytes than f32 does, for inference: there, reading the
// weights takes most of the time.
#pragma once

#include <cstdint>
#include <string_view>

#include "backends/view.h"

namespace tapir {

enum class Compression : uint8_t {
  none,  // f32
  bf16,  // each number rounded to bf16
  int8,  // integers from -127 to 127, times one scale for each group of 32 numbers of a row
};

constexpr std::string_view name_of(Compression compression) {
  if (compression == Compression::none) return "f32";
  return compression == Compression::bf16 ? "bf16" : "int8";
}

// Owns nothing. Row-major and dense; int8 needs a number of columns that groups divide.
struct CompressedMatrix {
  static constexpr int64_t kGroup = 32;
  // How many scales more may be read behind the last, so that kernels can take whole vectors.
  static constexpr int64_t kScalePadding = 16;

  Compression compression = Compression::bf16;
  int64_t rows = 0, columns = 0;
  void* values = nullptr;  // float, bf16 or int8_t [rows, columns]
  // [rows, columns / kGroup] and the padding, only of int8. The largest magnitude of the group over
  // 127, rounded up so that no integer exceeds 127.
  bf16* scales = nullptr;

  size_t value_bytes() const { return static_cast<size_t>(rows * columns) * value_size(); }
  size_t value_size() const {
    if (compression == Compression::none) return sizeof(float);
    return compression == Compression::bf16 ? sizeof(bf16) : sizeof(int8_t);
  }
  size_t scale_bytes() const {
    if (compression != Compression::int8) return 0;
    return static_cast<size_t>(rows * columns / kGroup + kScalePadding) * sizeof(bf16);
  }
};

// One of several products of the same x: out = x weight^T, [M, weight.rows].
struct WeightProduct {
  CompressedMatrix weight;
  View out;
};

}  // namespace tapir
