// Indexing along the last axis.
#include <algorithm>

#include "backends/cpu/allocator.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {
namespace {

// Elements of one size are moved alike, whatever they mean.
template <typename Bits>
void gather_bits(ConstView x, ConstView index, View out) {
  const int64_t n = index.row_length(), from_length = x.row_length();
  cpu::parallel_for(index.rows(), 2 * n, [&](int64_t row) {
    const Bits* from = x.as<Bits>() + row * from_length;
    const int32_t* at = index.as<int32_t>() + row * n;
    Bits* to = out.as<Bits>() + row * n;
    for (int64_t i = 0; i < n; ++i) to[i] = from[at[i]];
  });
}

template <typename T>
void scatter_add_row(const int32_t* at, const T* source, int64_t n, T* out) {
  for (int64_t i = 0; i < n; ++i) out[at[i]] = static_cast<T>(out[at[i]] + source[i]);
}

}  // namespace

void CpuBackend::gather(ConstView x, ConstView index, View out) const {
  switch (size_of(x.dtype)) {
    case 8:
      return gather_bits<uint64_t>(x, index, out);
    case 4:
      return gather_bits<uint32_t>(x, index, out);
    case 2:
      return gather_bits<uint16_t>(x, index, out);
    default:
      return gather_bits<uint8_t>(x, index, out);
  }
}

void CpuBackend::scatter_add(ConstView index, ConstView source, View out) const {
  dispatch_floating(source.dtype, "scatter_add", [&]<typename T>() {
    using A = Accum<T>;
    const int64_t n = index.row_length(), length = out.row_length();
    // 16-bit rows are added up in f32, so that many small additions are not lost.
    constexpr bool kNarrow = !std::is_same_v<A, T>;
    const cpu::Scratch<A> scratch(kNarrow ? cpu::threads() * (length + n) : 0);
    cpu::parallel_for(index.rows(), 2 * n, [&](int64_t row, int worker) {
      const int32_t* at = index.as<int32_t>() + row * n;
      const T* from = source.as<T>() + row * n;
      T* to = out.as<T>() + row * length;
      if constexpr (kNarrow) {
        A* sums = scratch.data() + worker * (length + n);
        A* terms = sums + length;
        std::transform(to, to + length, sums, widen<T>);
        std::transform(from, from + n, terms, widen<T>);
        scatter_add_row(at, terms, n, sums);
        std::transform(sums, sums + length, to, narrow<T>);
      } else {
        scatter_add_row(at, from, n, to);
      }
    });
  });
}

int64_t CpuBackend::find_out_of_range(ConstView index, int64_t bound) const {
  const int32_t* values = index.as<int32_t>();
  const int32_t* end = values + index.numel();
  const int32_t* found =
      std::find_if(values, end, [bound](int32_t value) { return value < 0 || value >= bound; });
  return found == end ? -1 : found - values;
}

}  // namespace tapir::TAPIR_ISA
