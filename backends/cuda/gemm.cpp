// Matrix products by cuBLAS. It thinks in columns, so out = a b is asked for as its transpose,
// out^T = b^T a^T: the same memory, read the other way.
#include "backends/cuda/context.h"
#include "backends/cuda/cuda_backend.h"
#include "backends/cuda/walk.h"

namespace tapir::cuda {
namespace {

// A row-major matrix as cuBLAS sees it, or a transposed one.
struct Operand {
  cublasOperation_t operation;
  int ld;
};

Operand operand_of(ConstView x) {
  const int64_t rows = x.size(-2), columns = x.size(-1);
  const bool by_rows =
      (x.stride(-1) == 1 || columns <= 1) && (x.stride(-2) >= columns || rows <= 1);
  if (by_rows) return {CUBLAS_OP_N, static_cast<int>(rows <= 1 ? columns : x.stride(-2))};
  return {CUBLAS_OP_T, static_cast<int>(columns <= 1 ? rows : x.stride(-1))};
}

cudaDataType type_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return CUDA_R_64F;
    case DType::bf16:
      return CUDA_R_16BF;
    case DType::f16:
      return CUDA_R_16F;
    default:
      return CUDA_R_32F;
  }
}

// What products are summed in, and whether f32 may be rounded to TF32 before.
cublasComputeType_t compute_type(DType dtype) {
  if (dtype == DType::f64) return CUBLAS_COMPUTE_64F;
  if (dtype == DType::f32 && context().matmul_precision == MatmulPrecision::medium)
    return CUBLAS_COMPUTE_32F_FAST_TF32;
  return CUBLAS_COMPUTE_32F;
}

Shape leading(const Shape& shape) {
  Shape result = shape;
  result.erase(result.rank() - 1);
  result.erase(result.rank() - 1);
  return result;
}

template <typename Pointer>
Pointer advance(Pointer data, int64_t elements, DType dtype) {
  using Byte =
      std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const char, char>;
  return static_cast<Byte*>(data) + elements * static_cast<int64_t>(size_of(dtype));
}

}  // namespace

void CudaBackend::matmul(ConstView a, ConstView b, View out) const {
  if (out.numel() == 0) return;
  if (a.size(-1) == 0) return fill(0, out);
  const Walk<3> walk(leading(out.shape),
                     {leading(out.strides), leading(a.strides), leading(b.strides)});
  // The last of the leading axes that remain goes to cuBLAS, the others are looped over.
  const int last = walk.rank - 1;
  const int64_t batches = walk.rank == 0 ? 1 : walk.sizes[last];
  const auto step = [&](int view) { return walk.rank == 0 ? 0 : walk.steps[last][view]; };
  const Operand left = operand_of(a), right = operand_of(b);
  const bool wide = a.dtype == DType::f64;
  const float one_f32 = 1, zero_f32 = 0;
  const double one_f64 = 1, zero_f64 = 0;
  const void* one = wide ? static_cast<const void*>(&one_f64) : &one_f32;
  const void* zero = wide ? static_cast<const void*>(&zero_f64) : &zero_f32;
  const cudaDataType type = type_of(a.dtype);
  const int rows = static_cast<int>(out.size(-2)), columns = static_cast<int>(out.size(-1));
  for (int64_t first = 0; first < walk.count; first += batches) {
    int64_t at[3];
    walk.locate(first, at);
    check(cublasGemmStridedBatchedEx(
              context().cublas, right.operation, left.operation, columns, rows,
              static_cast<int>(a.size(-1)), one, advance(b.data, at[2], b.dtype), type, right.ld,
              step(2), advance(a.data, at[1], a.dtype), type, left.ld, step(1), zero,
              advance(out.data, at[0], out.dtype), type, operand_of(out).ld, step(0),
              static_cast<int>(batches), compute_type(a.dtype), CUBLAS_GEMM_DEFAULT),
          "cublasGemmStridedBatchedEx");
  }
}

}  // namespace tapir::cuda
