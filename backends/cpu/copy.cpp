// Copies between strided views, with conversion of the dtype.
#include <cstring>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/dense_runs.h"

namespace tapir::TAPIR_ISA {
namespace {

// A copy through the type A, which holds the values of both dtypes.
template <typename A>
void convert_through(ConstView x, View out) {
  run_elementwise<A, 1, 1>(2, A(0), {x}, {out},
                           [](A, const std::array<const A*, 1>& in, const std::array<A*, 1>& to,
                              int64_t n) { std::copy_n(in[0], n, to[0]); });
}

// A plain copy of elements of one size, whatever they mean.
template <typename Bits>
void copy_bits(ConstView x, View out) {
  map<Bits, Bits>(
      1, [](Bits bits) { return bits; }, out, x);
}

}  // namespace

void CpuBackend::copy(ConstView x, View out) const {
  if (x.dtype == out.dtype) {
    switch (size_of(x.dtype)) {
      case 8:
        return copy_bits<uint64_t>(x, out);
      case 4:
        return copy_bits<uint32_t>(x, out);
      case 2:
        return copy_bits<uint16_t>(x, out);
      default:
        return copy_bits<uint8_t>(x, out);
    }
  }
  const auto fits_f32 = [](DType dtype) { return is_floating(dtype) && dtype != DType::f64; };
  if (fits_f32(x.dtype) && fits_f32(out.dtype)) return convert_through<float>(x, out);
  convert_through<double>(x, out);
}

void CpuBackend::fill(double value, View out) const {
  dispatch_all(out.dtype, "fill", [&]<typename T>() {
    T element;
    store_run(out.dtype, &value, 1, &element, 0, 1);
    const StridedLoop<1> loop(out.shape, {out.strides});
    loop.run(1, [&](const auto& at, int64_t n) {
      T* run = out.as<T>() + at[0];
      const int64_t step = loop.inner_steps[0];
      if (step == 1) {
        std::fill_n(run, n, element);
      } else {
        for (int64_t i = 0; i < n; ++i) run[i * step] = element;
      }
    });
  });
}

}  // namespace tapir::TAPIR_ISA
