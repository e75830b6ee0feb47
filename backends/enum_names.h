// Options that users write by name: one table per enum serves parsing, printing and the error.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "backends/error.h"

namespace tapir {

template <typename Enum, size_t N>
using EnumNames = std::array<std::pair<Enum, std::string_view>, N>;

template <typename Enum, size_t N>
constexpr std::string_view name_in(const EnumNames<Enum, N>& names, Enum value) {
  for (const auto& entry : names)
    if (entry.first == value) return entry.second;
  return "?";
}

// The value called `text`; any other text is an Error that lists the legal names. `option` says
// what is being chosen.
template <typename Enum, size_t N>
Enum parse_name(const EnumNames<Enum, N>& names, std::string_view option, std::string_view text) {
  std::string legal;
  for (const auto& entry : names) {
    if (entry.second == text) return entry.first;
    legal += legal.empty() ? "" : ", ";
    legal += entry.second;
  }
  fail(option, "there is no '{}'; choose one of {}", text, legal);
}

}  // namespace tapir
