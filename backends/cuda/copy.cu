// Copies between strided views, with conversion of the dtype.
#include <bit>

#include "backends/cuda/device.h"

namespace tapir::cuda {
namespace {

// What a view of T is read and written as: booleans as bytes.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// Rounds toward zero and stops at the ends of the range; NaN becomes 0.
__device__ int32_t to_integer(double value) {
  constexpr double kLowest = -2147483648.0, kHighest = 2147483647.0;
  if (value != value) return 0;
  return static_cast<int32_t>(value < kLowest ? kLowest : (value > kHighest ? kHighest : value));
}

// 16-bit floats convert by way of f32.
template <typename To, typename From>
__device__ Stored<To> convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return widen(value) != 0;
  } else if constexpr (std::is_same_v<To, int32_t>) {
    return to_integer(static_cast<double>(widen(value)));
  } else {
    return narrow<To>(static_cast<Accum<To>>(widen(value)));
  }
}

template <typename To, typename From>
struct Convert {
  Stored<To>* out;
  const Stored<From>* x;
  __device__ void operator()(const int64_t (&at)[2]) const { out[at[0]] = convert<To>(x[at[1]]); }
};

template <typename Bits>
struct CopyBits {
  Bits* out;
  const Bits* x;
  __device__ void operator()(const int64_t (&at)[2]) const { out[at[0]] = x[at[1]]; }
};

template <typename Bits>
struct FillBits {
  Bits* out;
  Bits value;
  __device__ void operator()(const int64_t (&at)[1]) const { out[at[0]] = value; }
};

template <size_t kSize>
using Unsigned = std::conditional_t<
    kSize == 8, uint64_t,
    std::conditional_t<kSize == 4, uint32_t, std::conditional_t<kSize == 2, uint16_t, uint8_t>>>;

// Calls `body.template operator()<Bits>()` with an unsigned type of that size.
template <typename Body>
void dispatch_size(size_t size, Body&& body) {
  switch (size) {
    case 8:
      return body.template operator()<uint64_t>();
    case 4:
      return body.template operator()<uint32_t>();
    case 2:
      return body.template operator()<uint16_t>();
    default:
      return body.template operator()<uint8_t>();
  }
}

// The host's conversion of one value.
template <typename T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_same_v<T, int32_t>) {
    if (value != value) return 0;
    return static_cast<int32_t>(
        value < -2147483648.0 ? -2147483648.0 : (value > 2147483647.0 ? 2147483647.0 : value));
  } else {
    return static_cast<T>(static_cast<Accum<T>>(value));
  }
}

}  // namespace

void CudaBackend::copy(ConstView x, View out) const {
  const Walk<2> walk(out.shape, {out.strides, x.strides});
  if (x.dtype == out.dtype) {
    if (walk.count > 0 && x.contiguous() && out.contiguous()) {
      check(cudaMemcpyAsync(out.data, x.data, static_cast<size_t>(walk.count) * size_of(x.dtype),
                            cudaMemcpyDeviceToDevice, context().stream),
            "cudaMemcpyAsync on the device");
      return;
    }
    return dispatch_size(size_of(x.dtype), [&]<typename Bits>() {
      each_element(CopyBits<Bits>{out.as<Bits>(), x.as<Bits>()}, walk);
    });
  }
  dispatch_all(x.dtype, "copy", [&]<typename From>() {
    dispatch_all(out.dtype, "copy", [&]<typename To>() {
      if constexpr (!std::is_same_v<From, To>) {
        each_element(Convert<To, From>{out.as<Stored<To>>(), x.as<Stored<From>>()}, walk);
      }
    });
  });
}

void CudaBackend::fill(double value, View out) const {
  dispatch_all(out.dtype, "fill", [&]<typename T>() {
    const T element = from_double<T>(value);
    using Bits = Unsigned<sizeof(T)>;
    each_element(FillBits<Bits>{out.as<Bits>(), std::bit_cast<Bits>(element)},
                 Walk<1>(out.shape, {out.strides}));
  });
}

}  // namespace tapir::cuda
