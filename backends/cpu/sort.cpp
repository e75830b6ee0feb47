// Stable sort of the last axis.
#include <algorithm>
#include <numeric>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {
namespace {

// An order of all values, in which NaN is the largest.
template <typename A>
bool less(A a, A b) {
  return a < b || (b != b && a == a);
}

template <typename T>
void sort_row(const T* x, int64_t n, bool descending, T* values, int32_t* index) {
  std::iota(index, index + n, 0);
  if (descending) {
    std::stable_sort(index, index + n,
                     [x](int32_t a, int32_t b) { return less(widen(x[b]), widen(x[a])); });
  } else {
    std::stable_sort(index, index + n,
                     [x](int32_t a, int32_t b) { return less(widen(x[a]), widen(x[b])); });
  }
  for (int64_t i = 0; i < n; ++i) values[i] = x[index[i]];
}

}  // namespace

void CpuBackend::sort(ConstView x, bool descending, View values, View index) const {
  const auto run = [&]<typename T>() {
    const int64_t n = x.row_length();
    cpu::parallel_for(x.rows(), 64 * n, [&](int64_t row) {
      sort_row(x.as<T>() + row * n, n, descending, values.as<T>() + row * n,
               index.as<int32_t>() + row * n);
    });
  };
  if (x.dtype == DType::i32) return run.template operator()<int32_t>();
  dispatch_floating(x.dtype, "sort", run);
}

}  // namespace tapir::TAPIR_ISA
