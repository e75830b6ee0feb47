// Numbers that weights had better not hold.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "autograd/state_dict.h"

namespace tapir::app {

// A finite number of `weight` that is infinite in `rounded`, the same tensor in another dtype, is
// an Error that names the parameter `name`, the number and the dtypes to choose instead.
void require_no_overflow(std::string_view name, const Tensor& weight, const Tensor& rounded);

// For people: how many of the numbers are infinite or NaN in f32, which models compute in, and
// where the first is. Nothing if none is.
std::optional<std::string> note_on_infinite(const std::vector<NamedTensor>& weights);

}  // namespace tapir::app
