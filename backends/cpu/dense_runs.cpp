#include "backends/cpu/dense_runs.h"

namespace tapir::TAPIR_ISA {
namespace {

// Booleans are read as bytes, since memory may hold others than 0 and 1.
template <typename T>
using Read = std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>;

template <typename To, typename From>
To convert(From value) {
  if constexpr (std::is_same_v<From, unsigned char>) {
    return static_cast<To>(value != 0);
  } else if constexpr (std::is_same_v<From, int32_t>) {
    return static_cast<To>(value);
  } else {
    return static_cast<To>(widen(value));
  }
}

// Rounds toward zero and stops at the ends of the range; NaN becomes 0.
int32_t to_integer(double value) {
  constexpr double kLowest = -2147483648.0, kHighest = 2147483647.0;
  if (value != value) return 0;
  return static_cast<int32_t>(value < kLowest ? kLowest : (value > kHighest ? kHighest : value));
}

template <typename To, typename A>
To convert_back(A value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != A(0);
  } else if constexpr (std::is_same_v<To, A>) {
    return value;
  } else if constexpr (std::is_same_v<To, int32_t>) {
    return to_integer(static_cast<double>(value));
  } else {
    return static_cast<To>(static_cast<Accum<To>>(value));
  }
}

}  // namespace

template <typename A>
void load_run(DType dtype, const void* data, int64_t offset, int64_t step, int64_t n, A* buffer) {
  dispatch_all(dtype, "load_run", [&]<typename T>() {
    const auto* from = static_cast<const Read<T>*>(data) + offset;
    if (step == 0) {
      std::fill_n(buffer, n, convert<A>(*from));
    } else if (step == 1) {
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) buffer[i] = convert<A>(from[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) buffer[i] = convert<A>(from[i * step]);
    }
  });
}

template <typename A>
void store_run(DType dtype, const A* buffer, int64_t n, void* data, int64_t offset, int64_t step) {
  dispatch_all(dtype, "store_run", [&]<typename T>() {
    T* to = static_cast<T*>(data) + offset;
    if (step == 1) {
#pragma omp simd
      for (int64_t i = 0; i < n; ++i) to[i] = convert_back<T>(buffer[i]);
    } else {
      for (int64_t i = 0; i < n; ++i) to[i * step] = convert_back<T>(buffer[i]);
    }
  });
}

template void load_run(DType, const void*, int64_t, int64_t, int64_t, float*);
template void load_run(DType, const void*, int64_t, int64_t, int64_t, double*);
template void load_run(DType, const void*, int64_t, int64_t, int64_t, int32_t*);
template void store_run(DType, const float*, int64_t, void*, int64_t, int64_t);
template void store_run(DType, const double*, int64_t, void*, int64_t, int64_t);
template void store_run(DType, const int32_t*, int64_t, void*, int64_t, int64_t);

}  // namespace tapir::TAPIR_ISA
