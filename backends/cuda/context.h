// The one CUDA device that this process uses: its stream, its cuBLAS handle, its memory.
#pragma once

#include <string>

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include "backends/cuda/allocator.h"
#include "backends/matmul_precision.h"

namespace tapir::cuda {

// Turns a failed call of the runtime or of cuBLAS into an Error with the call and its meaning.
void check(cudaError_t status, const char* call);
void check(cublasStatus_t status, const char* call);

// All work goes to one stream, so it runs in the order in which the host asks for it.
struct Context {
  Context(bool recycle, const std::atomic<MatmulPrecision>& asked)
      : matmul_precision(asked), allocator(recycle) {}

  cudaStream_t stream = nullptr;
  cublasHandle_t cublas = nullptr;
  const std::atomic<MatmulPrecision>& matmul_precision;  // the process's
  int processors = 1;                                    // streaming multiprocessors
  std::string description;
  StreamAllocator allocator;
};

// Opens device 0. Returns false with the reason when there is none that works.
bool open_context(const std::atomic<MatmulPrecision>& precision, std::string* reason);
Context& context();

// Device memory for the length of a scope. Kernels that were launched before its end may still use
// it: whoever gets the memory next is queued behind them.
class Scratch {
 public:
  explicit Scratch(size_t bytes) : bytes_(bytes), data_(context().allocator.allocate(bytes)) {}
  ~Scratch() { context().allocator.deallocate(data_, bytes_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  template <typename T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  size_t bytes_;
  void* data_;
};

}  // namespace tapir::cuda
