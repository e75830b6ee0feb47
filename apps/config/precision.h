// The numbers that a run computes with.
#pragma once

#include <string>

#include "backends/device.h"
#include "backends/dtype.h"
#include "backends/enum_names.h"

namespace tapir::app {

// bf16: parameters, activations and gradients; the optimizer keeps the weights in f32 besides, and
// sums are f32. automatic is a wish only: bf16 where it is faster, f32 elsewhere.
enum class Precision { f32, bf16, automatic };

inline constexpr EnumNames<Precision, 3> kPrecisionNames = {
    {{Precision::f32, "f32"}, {Precision::bf16, "bf16"}, {Precision::automatic, "auto"}}};

inline std::string_view name_of(Precision precision) {
  return name_in(kPrecisionNames, precision);
}

inline Precision parse_precision(std::string_view text) {
  return parse_name(kPrecisionNames, "--precision", text);
}

// Of parameters and activations.
inline DType parameter_dtype(Precision precision) {
  return precision == Precision::bf16 ? DType::bf16 : DType::f32;
}

struct PrecisionChoice {
  Precision precision;  // never automatic
  std::string about;    // for people: what it is and, if it was not asked for by name, why
};

// What `wish` means on that device.
PrecisionChoice choose_precision(Precision wish, Device device);

}  // namespace tapir::app
