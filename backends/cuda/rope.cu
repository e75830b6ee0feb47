// Rotary position embedding: a thread per pair. Source: Su et al. 2021.
#include "backends/cuda/device.h"

namespace tapir::cuda {
namespace {

// The sizes and strides of x [B, H, T, D], and of positions [B, T].
struct RopeShape {
  int64_t heads, length, width;
  int64_t x_steps[4], position_steps[2];
};

template <typename T>
__global__ void rope_kernel(const T* x, const Accum<T>* cosine, const Accum<T>* sine,
                            const int32_t* positions, RopeShape shape, int64_t pairs,
                            RopeLayout layout, bool inverse, int64_t count, T* out) {
  using A = Accum<T>;
  const int64_t item = thread_item();
  if (item >= count) return;
  const int64_t pair = item % pairs, row = item / pairs;
  const int64_t t = row % shape.length, h = row / shape.length % shape.heads;
  const int64_t b = row / shape.length / shape.heads;
  const int64_t position = positions[b * shape.position_steps[0] + t * shape.position_steps[1]];
  const bool interleaved = layout == RopeLayout::interleaved;
  const int64_t first = interleaved ? 2 * pair : pair, second = first + (interleaved ? 1 : pairs);
  const T* from = x + b * shape.x_steps[0] + h * shape.x_steps[1] + t * shape.x_steps[2];
  const A u = widen(from[first * shape.x_steps[3]]), v = widen(from[second * shape.x_steps[3]]);
  const A c = cosine[position * pairs + pair];
  const A s = inverse ? -sine[position * pairs + pair] : sine[position * pairs + pair];
  out[row * shape.width + first] = narrow<T>(u * c - v * s);
  out[row * shape.width + second] = narrow<T>(u * s + v * c);
}

}  // namespace

void CudaBackend::rope(ConstView x, ConstView cos, ConstView sin, ConstView positions,
                       RopeLayout layout, bool inverse, View out) const {
  const int64_t pairs = x.size(3) / 2, count = x.size(0) * x.size(1) * x.size(2) * pairs;
  if (count == 0) return;
  const RopeShape shape{x.size(1),
                        x.size(2),
                        x.size(3),
                        {x.stride(0), x.stride(1), x.stride(2), x.stride(3)},
                        {positions.stride(0), positions.stride(1)}};
  dispatch_floating(x.dtype, "rope", [&]<typename T>() {
    using A = Accum<T>;
    launch(rope_kernel<T>, grid_for(count), x.as<T>(), cos.as<A>(), sin.as<A>(),
           positions.as<int32_t>(), shape, pairs, layout, inverse, count, out.as<T>());
  });
}

}  // namespace tapir::cuda
