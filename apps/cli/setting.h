// A value that a user can set by name: on the command line as --name, in a config file as
// name = value. One list of settings serves both, and writes the config file too.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backends/enum_names.h"

namespace tapir::app {

// A setting that takes one of a few names.
struct Choice {
  std::vector<std::string> names;
  std::function<std::string()> get;
  std::function<void(std::string_view)> set;
};

struct Setting {
  // The variable behind the setting. An absent optional is written as "auto".
  using Target = std::variant<bool*, int64_t*, double*, std::string*, std::vector<std::string>*,
                              std::optional<int64_t>*, Choice>;

  std::string group;  // the heading in --help and the [section] of a config file
  std::string name;
  Target target;
  std::string help;
  double low = -std::numeric_limits<double>::infinity();  // numbers: the smallest legal value
  double high = std::numeric_limits<double>::infinity();
};

// A choice from the parse and name functions of an enum.
template <typename Enum, typename Parse>
Choice choice_of(Enum& value, std::vector<std::string> names, Parse parse) {
  return {std::move(names), [&value] { return std::string(name_of(value)); },
          [&value, parse](std::string_view text) { value = parse(text); }};
}

// Sets it from text. Text of the wrong form or outside the bounds is an Error that begins with
// `where` ("--layers", "file.toml, line 3: layers"). Only lists take more or less than one value.
void assign(const Setting& setting, std::span<const std::string> values, std::string_view where);

// The value as assign would read it back; one string, except for lists.
std::vector<std::string> values_of(const Setting& setting);

bool is_flag(const Setting& setting);  // on or off
bool is_list(const Setting& setting);
// Whether its present value is quoted in a config file, and which forms it may have there: an
// optional number takes both, because its absence is written as "auto".
bool is_text(const Setting& setting);
bool takes_text(const Setting& setting);
bool takes_bare(const Setting& setting);

// The setting of that name, or null.
const Setting* find_setting(std::span<const Setting> settings, std::string_view name);
std::vector<std::string> names_of(std::span<const Setting> settings);

// The shortest text that reads back as the same number.
std::string number_text(double value);

}  // namespace tapir::app
