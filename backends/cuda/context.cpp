#include "backends/cuda/context.h"

#include <algorithm>
#include <cstdlib>
#include <memory>

#include <fmt/format.h>

#include "backends/error.h"

namespace tapir::cuda {
namespace {

constexpr int kOldestMajor = 8;  // compute capability: bf16 on tensor cores, cp.async
constexpr size_t kLargestWorkspace = size_t{32} << 20;

Context* instance = nullptr;

std::string version_name(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

std::string describe(const cudaDeviceProp& properties) {
  int runtime = 0, driver = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  return fmt::format("{}, compute capability {}.{}, {:.0f} MiB, CUDA {} on a driver for {}",
                     properties.name, properties.major, properties.minor,
                     static_cast<double>(properties.totalGlobalMem) / (1 << 20),
                     version_name(runtime), version_name(driver));
}

// Why no device can be used, or "" with its properties.
std::string find_device(cudaDeviceProp* properties) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver) {
    return fmt::format("the NVIDIA driver is missing or too old for CUDA {}; install a newer one",
                       version_name(CUDART_VERSION));
  }
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0))
    return "there is no NVIDIA GPU in this machine";
  if (status != cudaSuccess)
    return fmt::format("the NVIDIA driver answers: {}", cudaGetErrorString(status));
  if (cudaGetDeviceProperties(properties, 0) != cudaSuccess)
    return "the NVIDIA driver does not describe its GPU";
  if (properties->major < kOldestMajor) {
    return fmt::format("the GPU {} is too old: it has compute capability {}.{}, and {}.0 is needed",
                       properties->name, properties->major, properties->minor, kOldestMajor);
  }
  return "";
}

void open_libraries(Context& c, size_t device_bytes) {
  const size_t workspace_bytes = std::min(kLargestWorkspace, device_bytes / 1024);
  check(cudaSetDevice(0), "cudaSetDevice");
  check(cudaStreamCreateWithFlags(&c.stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  check(cublasCreate(&c.cublas), "cublasCreate");
  check(cublasSetStream(c.cublas, c.stream), "cublasSetStream");
  // A workspace of our own: cuBLAS allocates nothing later, and results repeat bit for bit.
  check(cublasSetWorkspace(c.cublas, c.allocator.allocate(workspace_bytes), workspace_bytes),
        "cublasSetWorkspace");
  // No TF32 where a product does not ask for it, and sums of 16-bit products stay in f32.
  check(cublasSetMathMode(
            c.cublas, static_cast<cublasMath_t>(CUBLAS_DEFAULT_MATH |
                                                CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION)),
        "cublasSetMathMode");
}

}  // namespace

void check(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  fail("cuda", "{} failed with {}: {}; the process cannot go on with this device", call,
       cudaGetErrorName(status), cudaGetErrorString(status));
}

void check(cublasStatus_t status, const char* call) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  fail("cuda", "{} failed with {}: {}; the process cannot go on with this device", call,
       cublasGetStatusName(status), cublasGetStatusString(status));
}

bool open_context(const std::atomic<MatmulPrecision>& precision, std::string* reason) {
  if (instance != nullptr) return true;
  cudaDeviceProp properties{};
  *reason = find_device(&properties);
  if (!reason->empty()) return false;
  // Memory checkers see more when every request goes to the driver.
  const bool recycle = std::getenv("TAPIR_CUDA_NO_RECYCLING") == nullptr;
  auto opened = std::make_unique<Context>(recycle, precision);
  opened->processors = properties.multiProcessorCount;
  opened->description = describe(properties);
  try {
    open_libraries(*opened, properties.totalGlobalMem);
  } catch (const Error& error) {
    *reason = error.what();
    return false;
  }
  // Never destroyed: tensors of static storage duration may outlive any static object, and the
  // driver cleans up when the process ends.
  instance = opened.release();
  return true;
}

Context& context() {
  return *instance;
}

}  // namespace tapir::cuda
