// Row lookup and its gradient.
#include "backends/cuda/device.h"

namespace tapir::cuda {
namespace {

template <typename T>
__global__ void embedding_kernel(const T* weight, const int32_t* ids, int64_t count, int64_t width,
                                 T* out) {
  const int64_t i = thread_item();
  if (i < count) out[i] = weight[ids[i / width] * width + i % width];
}

__global__ void count_ids_kernel(const int32_t* ids, int64_t count, int32_t* occurrences) {
  const int64_t i = thread_item();
  if (i < count) atomicAdd(occurrences + ids[i], 1);
}

// A warp per row of dweight and 32 columns of it. The warp looks at 32 ids at a time and adds the
// rows of those that are its own, in their order, until it has met all of them.
template <typename T>
__global__ void embedding_backward_kernel(const T* grad, const int32_t* ids, int64_t count,
                                          int64_t width, const int32_t* occurrences,
                                          int64_t vocabulary, T* dweight) {
  const int64_t slices = (width + kWarp - 1) / kWarp, item = warp_item();
  if (item >= vocabulary * slices) return;
  const int64_t id = item / slices, column = item % slices * kWarp + lane_index();
  Accum<T> sum = 0;
  int32_t left = occurrences[id];
  for (int64_t begin = 0; left > 0; begin += kWarp) {
    const int64_t i = begin + lane_index();
    unsigned matches = __ballot_sync(kAllLanes, i < count && ids[i] == id);
    left -= __popc(matches);
    for (; matches != 0; matches &= matches - 1) {
      const int64_t row = begin + __ffs(static_cast<int>(matches)) - 1;
      if (column < width) sum += widen(grad[row * width + column]);
    }
  }
  if (column < width) dweight[id * width + column] = narrow<T>(sum);
}

}  // namespace

void CudaBackend::embedding(ConstView weight, ConstView ids, View out) const {
  const int64_t count = out.numel();
  if (count == 0) return;
  dispatch_floating(weight.dtype, "embedding", [&]<typename T>() {
    launch(embedding_kernel<T>, grid_for(count), weight.as<T>(), ids.as<int32_t>(), count,
           weight.row_length(), out.as<T>());
  });
}

void CudaBackend::embedding_backward(ConstView grad, ConstView ids, View dweight) const {
  const int64_t vocabulary = dweight.rows(), width = dweight.row_length(), count = ids.numel();
  if (dweight.numel() == 0) return;
  const size_t bytes = static_cast<size_t>(vocabulary) * sizeof(int32_t);
  const Scratch scratch(bytes);
  auto* occurrences = scratch.as<int32_t>();
  check(cudaMemsetAsync(occurrences, 0, bytes, context().stream), "cudaMemsetAsync");
  if (count > 0) launch(count_ids_kernel, grid_for(count), ids.as<int32_t>(), count, occurrences);
  const int64_t slices = (width + kWarp - 1) / kWarp;
  dispatch_floating(grad.dtype, "embedding_backward", [&]<typename T>() {
    launch(embedding_backward_kernel<T>, warps_for(vocabulary * slices), grad.as<T>(),
           ids.as<int32_t>(), count, width, occurrences, vocabulary, dweight.as<T>());
  });
}

}  // namespace tapir::cuda
