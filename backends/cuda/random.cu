// Random tensors and dropout: the same numbers as on the CPU.
#include "backends/cuda/device.h"

namespace tapir::cuda {
namespace {

template <typename T>
__global__ void random_kernel(RandomKind kind, uint64_t seed, uint64_t offset, double bound,
                              int64_t count, T* out) {
  const int64_t i = thread_item();
  if (i >= count) return;
  out[i] = narrow<T>(static_cast<Accum<T>>(random_element(kind, seed, offset, i, bound)));
}

// A thread per Philox block, whose four words decide on four elements.
template <typename T>
__global__ void dropout_kernel(const T* x, double p, Accum<T> scale, uint64_t seed, uint64_t offset,
                               int64_t count, T* out) {
  const int64_t block = thread_item();
  if (4 * block >= count) return;
  const PhiloxBlock bits = philox(seed, offset + static_cast<uint64_t>(block));
  TAPIR_UNROLL
  for (int word = 0; word < 4; ++word) {
    const int64_t i = 4 * block + word;
    if (i >= count) return;
    const bool keep = uniform24(bits.word[word]) >= p;
    out[i] = narrow<T>(keep ? widen(x[i]) * scale : Accum<T>(0));
  }
}

}  // namespace

void CudaBackend::random(RandomKind kind, uint64_t seed, uint64_t offset, double bound,
                         View out) const {
  const int64_t count = out.numel();
  if (count == 0) return;
  dispatch_floating(out.dtype, "random", [&]<typename T>() {
    launch(random_kernel<T>, grid_for(count), kind, seed, offset, bound, count, out.as<T>());
  });
}

void CudaBackend::dropout(ConstView x, double p, uint64_t seed, uint64_t offset, View out) const {
  const int64_t count = x.numel();
  if (count == 0) return;
  dispatch_floating(x.dtype, "dropout", [&]<typename T>() {
    launch(dropout_kernel<T>, grid_for((count + 3) / 4), x.as<T>(), p,
           static_cast<Accum<T>>(1 / (1 - p)), seed, offset, count, out.as<T>());
  });
}

}  // namespace tapir::cuda
