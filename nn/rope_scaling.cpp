#include "nn/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "backends/enum_names.h"

namespace tapir::nn {
namespace {

constexpr EnumNames<RopeScalingKind, 3> kKinds{{{RopeScalingKind::none, "none"},
                                                {RopeScalingKind::linear, "linear"},
                                                {RopeScalingKind::llama3, "llama3"}}};

}  // namespace

void RopeScaling::validate() const {
  constexpr std::string_view kOp = "rope_scaling";
  if (kind == RopeScalingKind::none) return;
  require(std::isfinite(factor) && factor >= 1, kOp, "factor is {}, must be finite and at least 1",
          factor);
  if (kind != RopeScalingKind::llama3) return;
  require(
      low_freq_factor > 0 && std::isfinite(high_freq_factor) && high_freq_factor > low_freq_factor,
      kOp, "low_freq_factor {} must be positive and below high_freq_factor {}", low_freq_factor,
      high_freq_factor);
  require(original_context > 0, kOp, "original_context is {}, must be positive", original_context);
}

double frequency_divisor(double frequency, const RopeScaling& scaling) {
  if (scaling.kind == RopeScalingKind::none) return 1;
  if (scaling.kind == RopeScalingKind::linear) return scaling.factor;
  const double turns =
      static_cast<double>(scaling.original_context) * frequency / (2 * std::numbers::pi);
  // 0: scaled, 1: as it is.
  const double kept = std::clamp(
      (turns - scaling.low_freq_factor) / (scaling.high_freq_factor - scaling.low_freq_factor), 0.0,
      1.0);
  return 1 / ((1 - kept) / scaling.factor + kept);
}

std::string_view name_of(RopeScalingKind kind) {
  return name_in(kKinds, kind);
}

RopeScalingKind parse_rope_scaling(std::string_view name) {
  return parse_name(kKinds, "rope_scaling", name);
}

}  // namespace tapir::nn
