#include "backends/cuda/cuda_backend.h"

#include "backends/cuda/context.h"
#include "backends/cuda/graph.h"
#include "backends/plugin.h"

namespace tapir::cuda {

Device CudaBackend::device() const {
  return kCuda;
}

std::string CudaBackend::description() const {
  return context().description;
}

Allocator& CudaBackend::allocator() const {
  return context().allocator;
}

void CudaBackend::synchronize() const {
  require_no_capture("waiting for the device");
  check(cudaStreamSynchronize(context().stream), "cudaStreamSynchronize");
}

void CudaBackend::copy_from_host(const void* host, void* device, size_t bytes) const {
  if (bytes == 0) return;
  require_no_capture("reading from the host");
  check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, context().stream),
        "cudaMemcpyAsync to the device");
}

// Copies to pageable memory have arrived when the call returns; the wait reports what kernels
// before did wrong.
void CudaBackend::copy_to_host(const void* device, void* host, size_t bytes) const {
  if (bytes == 0) return;
  require_no_capture("writing to the host");
  check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, context().stream),
        "cudaMemcpyAsync to the host");
  synchronize();
}

}  // namespace tapir::cuda

extern "C" __attribute__((visibility("default"))) const tapir::Backend* tapir_open_backend(
    int version, std::string* reason, const std::atomic<tapir::MatmulPrecision>* precision) {
  if (version != tapir::kPluginVersion) {
    *reason =
        fmt::format("the CUDA library is of another build (interface {}, not {}); reinstall it",
                    tapir::kPluginVersion, version);
    return nullptr;
  }
  if (!tapir::cuda::open_context(*precision, reason)) return nullptr;
  static const tapir::cuda::CudaBackend backend;
  return &backend;
}
