// Ways to make RoPE reach beyond the context that a model was first trained with.
#pragma once

#include <cstdint>
#include <string_view>

namespace tapir::nn {

enum class RopeScalingKind : uint8_t {
  none,
  linear,  // every frequency is divided by `factor`: Chen et al. 2023, "Position Interpolation"
  llama3,  // low frequencies only, with a smooth transition: "The Llama 3 Herd of Models", 2024
};

struct RopeScaling {
  RopeScalingKind kind = RopeScalingKind::none;
  double factor = 1;
  // Of llama3. In a context of `original_context` positions, a pair that turns fewer than
  // `low_freq_factor` times is scaled, and one that turns more than `high_freq_factor` times is
  // left as it is.
  double low_freq_factor = 1;
  double high_freq_factor = 4;
  int64_t original_context = 8192;

  // An Error that names the first impossible value.
  void validate() const;

  bool operator==(const RopeScaling&) const = default;
};

// By what the frequency of a pair, in radians per position, is divided; at least 1.
double frequency_divisor(double frequency, const RopeScaling& scaling);

// The names are those of the enumerators; an unknown one is an Error that lists them.
std::string_view name_of(RopeScalingKind kind);
RopeScalingKind parse_rope_scaling(std::string_view name);

}  // namespace tapir::nn
