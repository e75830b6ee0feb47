#include "apps/interchange/export_weights.h"

#include "apps/interchange/weight_values.h"
#include "autograd/ops.h"

namespace tapir::app {
namespace {

// [H D, ...] with pairs (i, i + D/2) <-> [H D, ...] with pairs (2i, 2i + 1).
Tensor reorder_heads(const Tensor& x, int64_t heads, bool to_interleaved) {
  const int64_t half = x.size(0) / heads / 2;
  const int64_t rest = x.numel() / x.size(0);
  const Shape split = to_interleaved ? Shape{heads, 2, half, rest} : Shape{heads, half, 2, rest};
  return reshape(contiguous(transpose(reshape(x, split), 1, 2)), x.shape());
}

}  // namespace

Tensor export_weight(std::string_view name, const Tensor& weight, const ModelConfig& model,
                     RopeLayout layout, DType dtype) {
  const bool query = name.find(".q_proj.") != std::string_view::npos;
  const bool key = name.find(".k_proj.") != std::string_view::npos;
  Tensor result = detach(weight);
  if ((query || key) && layout != model.rope_layout) {
    const int64_t heads = query ? model.heads : model.kv_heads.value_or(model.heads);
    result = reorder_heads(result, heads, layout == RopeLayout::interleaved);
  }
  const Tensor rounded = to(result, dtype);
  if (dtype != DType::f32) require_no_overflow(name, result, rounded);
  return rounded;
}

}  // namespace tapir::app
