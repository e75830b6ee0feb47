// Attention with one query for each head, as for a token that continues a text.
#include "backends/cpu/query_attention.h"

#include <algorithm>
#include <cmath>

#include "backends/cpu/allocator.h"
#include "backends/cpu/attention_shape.h"
#include "backends/cpu/parallel.h"
#include "backends/cpu/row_product.h"
#include "backends/cpu/softmax_row.h"

namespace tapir::TAPIR_ISA {
namespace {

// Consecutive numbers of the rows of a head.
struct HeadRows {
  const float* data;
  int64_t step;  // from row to row

  HeadRows(ConstView x, int64_t b, int64_t h)
      : data(x.as<float>() + b * x.stride(0) + h * x.stride(1)), step(x.stride(2)) {}
};

// out[j] = scale * the sum over rows of weights[row] values[row, j], for j < (Columns - 1) vectors
// and `last` numbers more.
template <int Columns>
void weigh_values(int64_t rows, const float* weights, HeadRows values, int64_t last, float scale,
                  float* out) {
  constexpr int kLanes = FloatVector::kLanes, kWhole = Columns - 1;
  FloatVector sums[Columns];
  unroll<Columns>([&](auto column) { sums[column] = FloatVector::zero(); });
  for (int64_t row = 0; row < rows; ++row) {
    const FloatVector weight = FloatVector::repeat(weights[row]);
    const float* from = values.data + row * values.step;
    unroll<kWhole>([&](auto column) {
      sums[column] = multiply_add(weight, FloatVector::load(from + column * kLanes), sums[column]);
    });
    sums[kWhole] =
        multiply_add(weight, FloatVector::load_first(from + kWhole * kLanes, last), sums[kWhole]);
  }
  const FloatVector factor = FloatVector::repeat(scale);
  unroll<kWhole>([&](auto column) { (sums[column] * factor).store(out + column * kLanes); });
  (sums[kWhole] * factor).store_first(out + kWhole * kLanes, last);
}

// The same for any width.
void weigh_values(int64_t rows, int64_t width, const float* weights, HeadRows values, float scale,
                  float* out) {
  constexpr int kLanes = FloatVector::kLanes, kMost = 4;
  while (width > 0) {
    const int64_t columns = std::min<int64_t>(kMost, (width + kLanes - 1) / kLanes);
    const int64_t last = std::min<int64_t>(width - (columns - 1) * kLanes, kLanes);
    const auto run = [&](auto count) {
      weigh_values<count>(rows, weights, values, last, scale, out);
    };
    if (columns == 4) run(std::integral_constant<int, 4>());
    if (columns == 3) run(std::integral_constant<int, 3>());
    if (columns == 2) run(std::integral_constant<int, 2>());
    if (columns == 1) run(std::integral_constant<int, 1>());
    values.data += columns * kLanes;
    out += columns * kLanes;
    width -= columns * kLanes;
  }
}

// The queries that share the keys and values of head `kv` of row b. `scores` has room for
// padded(keys) numbers for each of them.
void attend_head(const AttentionShape& shape, int64_t b, int64_t kv, float* scores, View out,
                 View lse) {
  const int64_t keys = shape.visible(0), step = padded(shape.keys), group = shape.group();
  const int64_t first = kv * group;
  const HeadRows of_keys(shape.k, b, kv), of_values(shape.v, b, kv);
  const float* queries = shape.q.as<float>() + b * shape.q.stride(0) + first * shape.q.stride(1);
  for (int64_t s = 0; s < keys; ++s) {
    row_products(group, shape.width, of_keys.data + s * of_keys.step, queries, shape.q.stride(1),
                 scores + s, step);
  }
  const auto scale = static_cast<float>(shape.options.scale);
  for (int64_t i = 0; i < group; ++i) {
    float* row = scores + i * step;
#pragma omp simd
    for (int64_t s = 0; s < keys; ++s) row[s] *= scale;
    shape.hide(b, first + i, 0, 0, keys, row);
    float largest = -std::numeric_limits<float>::infinity(), sum = 0;
    update_row(row, padded(keys), largest, sum);
    weigh_values(keys, shape.value_width, row, of_values, sum == 0 ? 0.0f : 1.0f / sum,
                 out.as<float>() + b * out.stride(0) + (first + i) * out.stride(1));
    lse.as<float>()[b * shape.heads + first + i] = largest + std::log(sum);
  }
}

}  // namespace

void attend_one_query(ConstView q, ConstView k, ConstView v, ConstView mask,
                      const AttentionOptions& options, View out, View lse) {
  const AttentionShape shape(q, k, v, mask, options);
  const int64_t score_count = shape.group() * padded(shape.keys);
  const cpu::Scratch<float> scores(cpu::threads() * score_count);
  const int64_t cost = shape.group() * shape.keys * (shape.width + shape.value_width) / 2;
  cpu::parallel_for(shape.batch * shape.kv_heads, cost, [&](int64_t item, int worker) {
    attend_head(shape, item / shape.kv_heads, item % shape.kv_heads,
                scores.data() + worker * score_count, out, lse);
  });
}

}  // namespace tapir::TAPIR_ISA
