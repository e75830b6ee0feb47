// Weights of fewer bits: making them, rows of them, and products with them.
#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include "backends/compressed_matrix.h"
#include "backends/cpu/allocator.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/gemm_panels.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/row_product.h"

namespace tapir::TAPIR_ISA {
namespace {

constexpr int64_t kGroup = CompressedMatrix::kGroup;
// How many scales are multiplied at a time.
constexpr int64_t kScales = FloatVector::kLanes;
static_assert(kScales <= CompressedMatrix::kScalePadding);

// One row of a matrix of weights.
struct Row {
  const float* floats;     // of f32
  const bf16* numbers;     // of bf16
  const int8_t* integers;  // of int8
  const bf16* scales;      // of int8

  Row(const CompressedMatrix& w, int64_t row)
      : floats(static_cast<const float*>(w.values) + row * w.columns),
        numbers(static_cast<const bf16*>(w.values) + row * w.columns),
        integers(static_cast<const int8_t*>(w.values) + row * w.columns),
        scales(w.scales ? w.scales + row * (w.columns / kGroup) : nullptr) {}
};

// The smallest bf16 that is not less than x >= 0.
bf16 round_up(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  bf16 result;
  result.bits = static_cast<uint16_t>((bits >> 16) + ((bits & 0xffffu) != 0 ? 1 : 0));
  return result;
}

void compress_group(const float* x, int8_t* values, bf16* scale) {
  float largest = 0;
  for (int64_t l = 0; l < kGroup; ++l) largest = std::max(largest, std::fabs(x[l]));
  *scale = round_up(largest / 127.0f);
  const auto step = static_cast<float>(*scale);
  for (int64_t l = 0; l < kGroup; ++l)
    values[l] = static_cast<int8_t>(step == 0 ? 0.0f : std::nearbyint(x[l] / step));
}

void decompress_row(const CompressedMatrix& w, int64_t row, float* out) {
  const Row from(w, row);
  if (w.compression == Compression::none) {
    std::copy_n(from.floats, w.columns, out);
    return;
  }
  if (w.compression == Compression::bf16) {
    for (int64_t l = 0; l < w.columns; ++l) out[l] = static_cast<float>(from.numbers[l]);
    return;
  }
  for (int64_t g = 0; g < w.columns / kGroup; ++g) {
    const auto step = static_cast<float>(from.scales[g]);
    for (int64_t l = g * kGroup; l < (g + 1) * kGroup; ++l)
      out[l] = step * static_cast<float>(from.integers[l]);
  }
}

// Vectors as integers of 16 bits, with a scale for each group. The product of two such integers
// with two of 8 bits is at most 2 * 32767 * 127 < 2^24, so pairs are added exactly.
struct ShortVectors {
  int64_t columns, groups, scale_step;  // of a vector; its scales fill whole registers
  cpu::Scratch<int16_t> values;
  cpu::Scratch<float> scales;

  explicit ShortVectors(ConstView x)
      : columns(x.size(-1)),
        groups(columns / kGroup),
        scale_step((groups / kScales + 1) * kScales),
        values(x.numel()),
        scales(x.rows() * scale_step) {
    const auto* from = x.as<float>();
    // What lies behind the last scale is multiplied too, and tiny numbers would take their time.
    std::fill_n(scales.data(), x.rows() * scale_step, 0.0f);
    for (int64_t i = 0; i < x.rows() * groups; ++i) {
      scales.data()[i / groups * scale_step + i % groups] =
          shorten(from + i * kGroup, values.data() + i * kGroup);
    }
  }

  // Returns the scale: NaN if a number is not finite, so that what depends on it is NaN too.
  static float shorten(const float* x, int16_t* values) {
    float largest = 0, zero = 0;
#pragma omp simd reduction(max : largest) reduction(+ : zero)
    for (int64_t l = 0; l < kGroup; ++l) {
      const float magnitude = std::fabs(x[l]);
      largest = magnitude > largest ? magnitude : largest;
      zero += x[l] * 0.0f;
    }
    const float factor = largest > 0 ? 32767.0f / largest : 0.0f;
    const bool usable = zero == 0 && std::isfinite(factor);
    for (int64_t l = 0; l < kGroup; ++l)
      values[l] = static_cast<int16_t>(usable ? std::nearbyint(x[l] * factor) : 0.0f);
    return zero == 0 ? largest / 32767.0f : zero;
  }
};

// As row_product of row_product.h, for int8 and the vectors of x from `first` on.
template <int Vectors>
void int8_row_product(const Row& weights, const ShortVectors& x, int64_t first, float* out,
                      int64_t out_step) {
  const int16_t* values = x.values.data() + first * x.columns;
  const float* x_scales = x.scales.data() + first * x.scale_step;
  FloatVector sums[Vectors];
  unroll<Vectors>([&](auto i) { sums[i] = FloatVector::zero(); });
  for (int64_t begin = 0; begin < x.groups; begin += kScales) {
    const int64_t count = std::min(kScales, x.groups - begin);
    const FloatVector of_weights = FloatVector::load(weights.scales + begin);
    float scales[Vectors][kScales];
    unroll<Vectors>([&](auto i) {
      (of_weights * FloatVector::load(x_scales + i * x.scale_step + begin)).store(scales[i]);
    });
    for (int64_t g = 0; g < count; ++g) {
      const int64_t from = (begin + g) * kGroup;
      prefetch(weights.integers + from);
      for (int64_t l = from; l < from + kGroup; l += ShortVector::kLanes) {
        const ShortVector integers = ShortVector::load(weights.integers + l);
        unroll<Vectors>([&](auto i) {
          const FloatVector pairs =
              pair_products(integers, ShortVector::load(values + i * x.columns + l));
          sums[i] = multiply_add(pairs, FloatVector::repeat(scales[i][g]), sums[i]);
        });
      }
    }
  }
  unroll<Vectors>([&](auto i) { out[i * out_step] = sums[i].sum(); });
}

// Rows of w from `begin` to `end` times all vectors of x; `shorts` are the vectors for int8.
void multiply_rows(ConstView x, const ShortVectors* shorts, const WeightProduct& product,
                   int64_t begin, int64_t end) {
  const CompressedMatrix& w = product.weight;
  const int64_t vectors = x.rows(), k = w.columns, step = w.rows;
  for (int64_t row = begin; row < end; ++row) {
    const Row weights(w, row);
    auto* to = product.out.as<float>() + row;
    if (w.compression == Compression::none) {
      row_products(vectors, k, weights.floats, x.as<float>(), k, to, step);
    } else if (w.compression == Compression::bf16) {
      row_products(vectors, k, weights.numbers, x.as<float>(), k, to, step);
    } else {
      share_reading(vectors, [&](auto count, int64_t first) {
        int8_row_product<count>(weights, *shorts, first, to + first * step, step);
      });
    }
  }
}

int64_t row_blocks(const WeightProduct& product) {
  return (product.weight.rows + kWeightRows - 1) / kWeightRows;
}

// All products as one parallel loop over blocks of rows.
void multiply_few_rows(ConstView x, std::span<const WeightProduct> products) {
  int64_t blocks = 0;
  bool has_int8 = false;
  for (const WeightProduct& product : products) {
    blocks += row_blocks(product);
    has_int8 |= product.weight.compression == Compression::int8;
  }
  std::optional<const ShortVectors> shorts;
  if (has_int8) shorts.emplace(x);
  // Reading takes the time, whatever the threads compute with what they read.
  const int64_t row_bytes = x.size(-1) * static_cast<int64_t>(products.front().weight.value_size());
  cpu::parallel_for(blocks, x.rows() * kWeightRows * row_bytes / 2, [&](int64_t item) {
    const WeightProduct* product = products.data();
    for (; item >= row_blocks(*product); ++product) item -= row_blocks(*product);
    const int64_t begin = item * kWeightRows;
    multiply_rows(x, shorts ? &*shorts : nullptr, *product, begin,
                  std::min(begin + kWeightRows, product->weight.rows));
  });
}

// Many rows of x, as a prompt has: weights as f32, a block of them at a time that the cache holds,
// and our usual product.
void multiply_many_rows(ConstView x, const CompressedMatrix& w, View out) {
  constexpr int64_t kBlockRows = 1024;
  const cpu::Scratch<float> block(std::min(kBlockRows, w.rows) * w.columns);
  for (int64_t begin = 0; begin < w.rows; begin += kBlockRows) {
    const int64_t rows = std::min(kBlockRows, w.rows - begin);
    cpu::parallel_for(rows, w.columns, [&](int64_t row) {
      decompress_row(w, begin + row, block.data() + row * w.columns);
    });
    const ConstView right{block.data(), DType::f32, {w.columns, rows}, {1, w.columns}};
    multiply_f32(x, right, {out.as<float>() + begin, DType::f32, {x.rows(), rows}, {w.rows, 1}});
  }
}

}  // namespace

void CpuBackend::compress(ConstView x, const CompressedMatrix& out) const {
  const auto* from = x.as<float>();
  if (out.compression == Compression::bf16) {
    return copy(x, {out.values, DType::bf16, x.shape, row_major_strides(x.shape)});
  }
  cpu::parallel_for(x.numel() / kGroup, 4 * kGroup, [&](int64_t group) {
    compress_group(from + group * kGroup, static_cast<int8_t*>(out.values) + group * kGroup,
                   out.scales + group);
  });
}

void CpuBackend::compressed_rows(const CompressedMatrix& w, ConstView ids, View out) const {
  cpu::parallel_for(ids.numel(), w.columns, [&](int64_t i) {
    decompress_row(w, ids.as<int32_t>()[i], out.as<float>() + i * w.columns);
  });
}

void CpuBackend::compressed_product(ConstView x, const CompressedMatrix& w, View out) const {
  if (out.numel() == 0) return;
  if (w.columns == 0) return fill(0, out);
  if (x.rows() <= kFewRows) {
    const WeightProduct product{w, out};
    return multiply_few_rows(x, {&product, 1});
  }
  if (w.compression != Compression::none) return multiply_many_rows(x, w, out);
  matmul(x, {w.values, DType::f32, {w.columns, w.rows}, {1, w.columns}}, out);
}

void CpuBackend::compressed_products(ConstView x, std::span<const WeightProduct> products) const {
  const bool empty = x.numel() == 0;
  if (!empty && !products.empty() && x.rows() <= kFewRows) return multiply_few_rows(x, products);
  for (const WeightProduct& product : products) compressed_product(x, product.weight, product.out);
}

}  // namespace tapir::TAPIR_ISA
