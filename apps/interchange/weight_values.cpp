#include "apps/interchange/weight_values.h"

#include <cmath>
#include <span>

#include "autograd/ops.h"

namespace tapir::app {
namespace {

// The numbers of a tensor, in f32.
struct Values {
  explicit Values(const Tensor& x) : tensor(to(to(contiguous(detach(x)), kCpu), DType::f32)) {}

  std::span<const float> get() const {
    return {static_cast<const float*>(tensor.view().data), static_cast<size_t>(tensor.numel())};
  }

  Tensor tensor;
};

}  // namespace

void require_no_overflow(std::string_view name, const Tensor& weight, const Tensor& rounded) {
  const Values original(weight), result(rounded);
  const std::span<const float> before = original.get(), after = result.get();
  for (size_t i = 0; i < before.size(); ++i) {
    if (std::isfinite(after[i]) || !std::isfinite(before[i])) continue;
    const bool half = rounded.dtype() == DType::f16;
    fail("export", "{} holds {:g}, which is beyond the largest number of {}; use --dtype {}", name,
         before[i], half ? "f16, 65504" : "bf16, 3.39e38", half ? "bf16 or f32" : "f32");
  }
}

std::optional<std::string> note_on_infinite(const std::vector<NamedTensor>& weights) {
  int64_t count = 0;
  std::string first;
  for (const NamedTensor& weight : weights) {
    const Values values(weight.tensor);
    for (const float value : values.get()) {
      if (std::isfinite(value)) continue;
      if (count++ == 0) first = fmt::format("{} in {}", value, weight.name);
    }
  }
  if (count == 0) return std::nullopt;
  return fmt::format(
      "{} of the weights {} not finite in f32, such as {}; what the model computes will not be "
      "either",
      count, count == 1 ? "is" : "are", first);
}

}  // namespace tapir::app
