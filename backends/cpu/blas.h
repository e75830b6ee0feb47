// OpenBLAS, loaded when the first matrix product of f64 needs it. Those of f32 have kernels of our
// own (packed_product.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tapir::cpu {

struct BlasInfo {
  std::string path;             // the file that was loaded
  std::string config;           // OpenBLAS's description of itself
  std::string corename;         // the processor that it chose its kernels for
  std::string threading;        // "serial", "pthreads" or "openmp"
  std::string coretype_source;  // who decided the core: "OPENBLAS_CORETYPE", "cpu features" ...
  std::optional<std::string> warning;  // a slow choice and its remedy
};

// Loads the library if need be. None found is an Error that names the package to install.
const BlasInfo& load_blas();
// What was loaded, or null while nothing has been.
const BlasInfo* loaded_blas();

// A matrix in memory: element (i, j) at data[i * ld + j], or data[j * ld + i] if transposed.
template <typename T>
struct BlasMatrix {
  T* data;
  int64_t ld;
  bool transposed = false;
};

// c = alpha * a b + beta * c on this thread alone; a [m, k], b [k, n], c [m, n] not transposed.
// Sizes must fit in int. load_blas() must have returned before.
void gemm(int64_t m, int64_t n, int64_t k, double alpha, BlasMatrix<const double> a,
          BlasMatrix<const double> b, double beta, BlasMatrix<double> c);

}  // namespace tapir::cpu
