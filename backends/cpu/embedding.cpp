// Row lookup and its gradient.
#include <algorithm>

#include "backends/cpu/allocator.h"
#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/lanes.h"
#include "backends/cpu/parallel.h"

namespace tapir::TAPIR_ISA {
namespace {

// The positions of each id: those of id v stand in order in positions[starts[v]] ...
// positions[starts[v + 1] - 1]. A counting sort.
struct Groups {
  cpu::Scratch<int32_t> starts, positions;

  Groups(const int32_t* ids, int64_t count, int64_t vocabulary)
      : starts(vocabulary + 2), positions(count) {
    int32_t* next = starts.data();
    std::fill_n(next, vocabulary + 2, 0);
    // next[v + 1] is first the number of ids below v, and after the second loop below v + 1.
    for (int64_t i = 0; i < count; ++i) ++next[ids[i] + 2];
    for (int64_t v = 0; v < vocabulary; ++v) next[v + 2] += next[v + 1];
    for (int64_t i = 0; i < count; ++i)
      positions.data()[next[ids[i] + 1]++] = static_cast<int32_t>(i);
  }
};

// out = the sum of the rows of grad at `positions`, in that order.
template <typename T>
void sum_rows(const T* grad, const int32_t* positions, int64_t count, int64_t width, T* out) {
  using A = Accum<T>;
  constexpr int64_t kColumns = 256;
  for (int64_t begin = 0; begin < width; begin += kColumns) {
    const int64_t columns = std::min(kColumns, width - begin);
    A sum[kColumns] = {};
    for (int64_t i = 0; i < count; ++i) {
      const T* row = grad + positions[i] * width + begin;
#pragma omp simd
      for (int64_t c = 0; c < columns; ++c) sum[c] += widen(row[c]);
    }
    for (int64_t c = 0; c < columns; ++c) out[begin + c] = narrow<T>(sum[c]);
  }
}

}  // namespace

void CpuBackend::embedding(ConstView weight, ConstView ids, View out) const {
  dispatch_floating(weight.dtype, "embedding", [&]<typename T>() {
    const int64_t width = weight.row_length();
    cpu::parallel_for(ids.numel(), width, [&](int64_t i) {
      std::copy_n(weight.as<T>() + ids.as<int32_t>()[i] * width, width, out.as<T>() + i * width);
    });
  });
}

void CpuBackend::embedding_backward(ConstView grad, ConstView ids, View dweight) const {
  dispatch_floating(grad.dtype, "embedding_backward", [&]<typename T>() {
    const int64_t width = dweight.row_length(), vocabulary = dweight.rows(), count = ids.numel();
    const Groups groups(ids.as<int32_t>(), count, vocabulary);
    const int32_t* starts = groups.starts.data();
    const int64_t cost = width + (vocabulary == 0 ? 0 : count * width / vocabulary);
    cpu::parallel_for(vocabulary, cost, [&](int64_t v) {
      T* row = dweight.as<T>() + v * width;
      if (starts[v] == starts[v + 1]) {
        std::fill_n(row, width, T{});
      } else {
        sum_rows(grad.as<T>(), groups.positions.data() + starts[v], starts[v + 1] - starts[v],
                 width, row);
      }
    });
  });
}

}  // namespace tapir::TAPIR_ISA
