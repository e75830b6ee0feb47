// The cuBLAS functions that the backend uses, as checked loops. They accept less than cuBLAS does,
// so that what passes here passes there: operands of one type, and buffers that hold them.
#include <bit>

#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "cudasim/simulator.h"

namespace {

using cudasim::is_device_range;
using cudasim::report;

struct Handle {
  cudaStream_t stream = nullptr;
};

// A column-major matrix, or several of them.
struct Matrix {
  const void* data;
  cudaDataType type;
  int64_t rows, columns, ld, stride;
};

size_t size_of(cudaDataType type) {
  switch (type) {
    case CUDA_R_64F:
      return 8;
    case CUDA_R_32F:
      return 4;
    case CUDA_R_16BF:
    case CUDA_R_16F:
      return 2;
    default:
      return 0;
  }
}

double read(const Matrix& m, int64_t i) {
  switch (m.type) {
    case CUDA_R_64F:
      return static_cast<const double*>(m.data)[i];
    case CUDA_R_32F:
      return static_cast<const float*>(m.data)[i];
    case CUDA_R_16BF:
      return __bfloat162float(static_cast<const __nv_bfloat16*>(m.data)[i]);
    default:
      return __half2float(static_cast<const __half*>(m.data)[i]);
  }
}

void write(const Matrix& m, int64_t i, double value) {
  void* data = const_cast<void*>(m.data);
  switch (m.type) {
    case CUDA_R_64F:
      static_cast<double*>(data)[i] = value;
      break;
    case CUDA_R_32F:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      break;
    case CUDA_R_16BF:
      static_cast<__nv_bfloat16*>(data)[i] = __float2bfloat16(static_cast<float>(value));
      break;
    default:
      static_cast<__half*>(data)[i] = __float2half(static_cast<float>(value));
  }
}

// What TF32 keeps of an f32: 11 of 24 bits, rounded.
double to_tf32(double value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return std::bit_cast<float>((bits + 0x1000u) & ~0x1fffu);
}

bool fits(const Matrix& m, int batches) {
  if (m.ld < m.rows || m.ld < 1) return false;
  const auto last = static_cast<size_t>(m.stride * (batches - 1) + m.ld * (m.columns - 1) + m.rows);
  return reinterpret_cast<uintptr_t>(m.data) % size_of(m.type) == 0 &&
         is_device_range(m.data, last * size_of(m.type));
}

// Sums in f64: the reference that kernels of any order of summation come close to.
void multiply(const Matrix& a, bool transpose_a, const Matrix& b, bool transpose_b, const Matrix& c,
              int64_t inner, int batches, double alpha, double beta, bool tf32) {
  for (int batch = 0; batch < batches; ++batch) {
    for (int64_t j = 0; j < c.columns; ++j) {
      for (int64_t i = 0; i < c.rows; ++i) {
        double sum = 0;
        for (int64_t k = 0; k < inner; ++k) {
          const int64_t at_a = batch * a.stride + (transpose_a ? k + i * a.ld : i + k * a.ld);
          const int64_t at_b = batch * b.stride + (transpose_b ? j + k * b.ld : k + j * b.ld);
          const double x = read(a, at_a), y = read(b, at_b);
          sum += tf32 ? to_tf32(x) * to_tf32(y) : x * y;
        }
        const int64_t at_c = batch * c.stride + i + j * c.ld;
        const double old = beta == 0 ? 0 : beta * read(c, at_c);  // beta 0 does not read c
        write(c, at_c, alpha * sum + old);
      }
    }
  }
}

}  // namespace

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (cudasim::device_kind() == "no cublas") return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = reinterpret_cast<cublasHandle_t>(new Handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  reinterpret_cast<Handle*>(handle)->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t, cublasMath_t) {
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t, void* workspace, size_t bytes) {
  return is_device_range(workspace, bytes) && reinterpret_cast<uintptr_t>(workspace) % 256 == 0
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_INVALID_VALUE;
}

const char* cublasGetStatusName(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_INITIALIZED ? "CUBLAS_STATUS_NOT_INITIALIZED"
                                                 : "CUBLAS_STATUS";
}

const char* cublasGetStatusString(cublasStatus_t) {
  return "a simulated failure";
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t op_a,
                                          cublasOperation_t op_b, int m, int n, int k,
                                          const void* alpha, const void* a, cudaDataType type_a,
                                          int lda, long long stride_a, const void* b,
                                          cudaDataType type_b, int ldb, long long stride_b,
                                          const void* beta, void* c, cudaDataType type_c, int ldc,
                                          long long stride_c, int batches,
                                          cublasComputeType_t compute, cublasGemmAlgo_t) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  const bool wide = type_a == CUDA_R_64F;
  const bool tf32 = type_a == CUDA_R_32F && compute == CUBLAS_COMPUTE_32F_FAST_TF32;
  if (size_of(type_a) == 0 || type_b != type_a || type_c != type_a ||
      (!tf32 && compute != (wide ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F))) {
    return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (m < 1 || n < 1 || k < 1 || batches < 1) return CUBLAS_STATUS_INVALID_VALUE;
  const bool trans_a = op_a == CUBLAS_OP_T, trans_b = op_b == CUBLAS_OP_T;
  const Matrix first{a, type_a, trans_a ? k : m, trans_a ? m : k, lda, stride_a};
  const Matrix second{b, type_b, trans_b ? n : k, trans_b ? k : n, ldb, stride_b};
  const Matrix out{c, type_c, m, n, ldc, stride_c};
  if (!fits(first, batches) || !fits(second, batches) || !fits(out, batches)) {
    report(cudaErrorInvalidValue, "a matrix of the product %d x %d x %d leaves its allocation", m,
           n, k);
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const double scale =
      wide ? *static_cast<const double*>(alpha) : *static_cast<const float*>(alpha);
  const double keep = wide ? *static_cast<const double*>(beta) : *static_cast<const float*>(beta);
  const cudaError_t queued = cudasim::enqueue_work(reinterpret_cast<Handle*>(handle)->stream, [=] {
    multiply(first, trans_a, second, trans_b, out, k, batches, scale, keep, tf32);
  });
  return queued == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
