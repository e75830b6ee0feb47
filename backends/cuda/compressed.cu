// Weights of fewer bits: making them, rows of them, and products with them. A product with few rows
// of x takes as long as reading the weights does, so they are read once, and coalesced.
#include "backends/cuda/device.h"

namespace tapir::cuda {
namespace {

constexpr int64_t kGroup = CompressedMatrix::kGroup;
static_assert(kGroup == kWarp);  // a warp compresses a group

// How many rows of x share the reading of the weights.
constexpr int kFewRows = 8;
// For more rows of x, how many rows of weights are made f32 at a time.
constexpr int64_t kBlockRows = 2048;

// A matrix of bf16 or int8_t as kernels read it.
template <typename T>
struct Weights {
  const T* values;
  const bf16* scales;
  int64_t rows, columns;

  explicit Weights(const CompressedMatrix& w)
      : values(static_cast<const T*>(w.values)),
        scales(w.scales),
        rows(w.rows),
        columns(w.columns) {}

  // kPack numbers of one group, from the i-th on.
  template <int kPack>
  __device__ void read(int64_t i, float (&numbers)[kPack]) const {
    struct alignas(kPack * sizeof(T)) Pack {
      T values[kPack];
    };
    const Pack pack = *reinterpret_cast<const Pack*>(values + i);
    TAPIR_UNROLL
    for (int l = 0; l < kPack; ++l) {
      if constexpr (std::is_same_v<T, bf16>) {
        numbers[l] = widen(pack.values[l]);
      } else {
        numbers[l] = widen(scales[i / kGroup]) * static_cast<float>(pack.values[l]);
      }
    }
  }
};

template <typename Body>
void dispatch_weights(const CompressedMatrix& w, Body&& body) {
  if (w.compression == Compression::bf16) return body(Weights<bf16>(w));
  body(Weights<int8_t>(w));
}

// The smallest bf16 that is not less than x >= 0.
__device__ bf16 round_up(float x) {
  const uint32_t bits = __float_as_uint(x);
  bf16 result;
  result.bits = static_cast<uint16_t>((bits >> 16) + ((bits & 0xffffu) != 0 ? 1 : 0));
  return result;
}

// A warp per group.
__global__ void compress_groups_kernel(const float* x, int64_t groups, int8_t* values,
                                       bf16* scales) {
  const int64_t group = warp_item(), i = group * kGroup + lane_index();
  if (group >= groups) return;
  const float number = x[i];
  const bf16 scale = round_up(warp_reduce(fabsf(number), Largest()) / 127.0f);
  const float step = widen(scale);
  values[i] = static_cast<int8_t>(step == 0 ? 0.0f : nearbyintf(number / step));
  if (lane_index() == 0) scales[group] = scale;
}

// Rows ids[0], ids[1], ... of the matrix as f32, or without ids the rows from `first` on.
template <typename T>
__global__ void decompress_kernel(Weights<T> w, const int32_t* ids, int64_t first, int64_t count,
                                  float* out) {
  const int64_t i = thread_item();
  if (i >= count) return;
  const int64_t place = i / w.columns, row = ids == nullptr ? first + place : ids[place];
  float number[1];
  w.read(row * w.columns + i % w.columns, number);
  out[i] = number[0];
}

// A warp per row of weights, for all of the at most kFewRows rows of x: each is summed in the same
// order, however many there are. Lanes take kPack numbers at a time.
template <typename T, int kPack>
__global__ void few_rows_kernel(Weights<T> w, const float* x, int x_rows, float* out) {
  struct alignas(kPack * sizeof(float)) Pack {
    float values[kPack];
  };
  const int64_t row = warp_item();
  if (row >= w.rows) return;
  float sums[kFewRows] = {};
  for (int64_t k = kPack * lane_index(); k < w.columns; k += kPack * kWarp) {
    float weights[kPack];
    w.read(row * w.columns + k, weights);
    TAPIR_UNROLL
    for (int r = 0; r < kFewRows; ++r) {
      if (r >= x_rows) break;
      const Pack pack = *reinterpret_cast<const Pack*>(x + r * w.columns + k);
      TAPIR_UNROLL
      for (int l = 0; l < kPack; ++l) sums[r] += weights[l] * pack.values[l];
    }
  }
  TAPIR_UNROLL
  for (int r = 0; r < kFewRows; ++r) {
    if (r >= x_rows) break;
    const float sum = warp_sum(sums[r]);
    if (lane_index() == 0) out[r * w.rows + row] = sum;
  }
}

template <typename T>
void multiply_few_rows(ConstView x, const Weights<T>& w, View out) {
  constexpr int kPack = 4;
  const bool packs =
      w.columns % kPack == 0 && reinterpret_cast<uintptr_t>(x.data) % (kPack * sizeof(float)) == 0;
  launch(packs ? few_rows_kernel<T, kPack> : few_rows_kernel<T, 1>, warps_for(w.rows), w,
         x.as<float>(), static_cast<int>(x.rows()), out.as<float>());
}

}  // namespace

void CudaBackend::compress(ConstView x, const CompressedMatrix& out) const {
  if (x.numel() == 0) return;
  if (out.compression == Compression::bf16) {
    return copy(x, {out.values, DType::bf16, x.shape, row_major_strides(x.shape)});
  }
  const int64_t groups = x.numel() / kGroup;
  launch(compress_groups_kernel, warps_for(groups), x.as<float>(), groups,
         static_cast<int8_t*>(out.values), out.scales);
}

void CudaBackend::compressed_rows(const CompressedMatrix& w, ConstView ids, View out) const {
  if (out.numel() == 0) return;
  dispatch_weights(w, [&]<typename T>(const Weights<T>& weights) {
    launch(decompress_kernel<T>, grid_for(out.numel()), weights, ids.as<int32_t>(), int64_t{0},
           out.numel(), out.as<float>());
  });
}

void CudaBackend::compressed_product(ConstView x, const CompressedMatrix& w, View out) const {
  if (out.numel() == 0) return;
  if (w.columns == 0) return fill(0, out);
  dispatch_weights(w, [&]<typename T>(const Weights<T>& weights) {
    if (x.rows() <= kFewRows) return multiply_few_rows(x, weights, out);
    const int64_t most = std::min(kBlockRows, w.rows);
    const Scratch block(static_cast<size_t>(most * w.columns) * sizeof(float));
    for (int64_t first = 0; first < w.rows; first += most) {
      const int64_t rows = std::min(most, w.rows - first);
      launch(decompress_kernel<T>, grid_for(rows * w.columns), weights, nullptr, first,
             rows * w.columns, block.as<float>());
      matmul(x, {block.as<float>(), DType::f32, {w.columns, rows}, {1, w.columns}},
             {out.as<float>() + first, DType::f32, {x.rows(), rows}, {w.rows, 1}});
    }
  });
}

}  // namespace tapir::cuda
