// The order in which a run sees its text.
#pragma once

#include "backends/enum_names.h"

namespace tapir::app {

enum class Sampling {
  shuffled,    // all windows in a random order, then all again in another
  sequential,  // all windows from front to back, then again
  random,      // windows at random positions, which may repeat and leave gaps
};

inline constexpr EnumNames<Sampling, 3> kSamplingNames = {{{Sampling::shuffled, "shuffled"},
                                                           {Sampling::sequential, "sequential"},
                                                           {Sampling::random, "random"}}};

inline std::string_view name_of(Sampling sampling) {
  return name_in(kSamplingNames, sampling);
}

inline Sampling parse_sampling(std::string_view text) {
  return parse_name(kSamplingNames, "--sampling", text);
}

}  // namespace tapir::app
