#include "apps/cli/setting.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "apps/cli/suggest.h"

namespace tapir::app {
namespace {

template <typename... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};
template <typename... Cases>
Overloaded(Cases...) -> Overloaded<Cases...>;

template <typename Number>
Number parse_number(std::string_view text, std::string_view where, std::string_view kind) {
  const std::string_view digits = text.starts_with('+') ? text.substr(1) : text;
  Number value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  require(error != std::errc::result_out_of_range, where, "{} is out of range", text);
  require(error == std::errc() && end == digits.data() + digits.size() && !digits.empty(), where,
          "expected {}, got '{}'", kind, text);
  return value;
}

void check_bounds(const Setting& setting, double value, std::string_view where) {
  require(!std::isnan(value), where, "nan is not a usable value");
  require(value >= setting.low, where, "{} is too small; the least is {}", number_text(value),
          number_text(setting.low));
  require(value <= setting.high, where, "{} is too large; the most is {}", number_text(value),
          number_text(setting.high));
}

bool parse_bool(std::string_view text, std::string_view where) {
  if (text == "true" || text == "false") return text == "true";
  fail(where, "expected true or false, got '{}'", text);
}

}  // namespace

std::string number_text(double value) {
  if (std::abs(value) < 1e15 && value == std::trunc(value)) {
    return fmt::format("{}", static_cast<int64_t>(value));
  }
  return fmt::format("{}", value);
}

void assign(const Setting& setting, std::span<const std::string> values, std::string_view where) {
  if (const auto* list = std::get_if<std::vector<std::string>*>(&setting.target)) {
    **list = {values.begin(), values.end()};
    return;
  }
  require(values.size() == 1, where, "expected one value, got {}", values.size());
  const std::string& text = values[0];
  const auto integer = [&] {
    const auto value = parse_number<int64_t>(text, where, "a whole number");
    check_bounds(setting, static_cast<double>(value), where);
    return value;
  };
  std::visit(Overloaded{
                 [&](bool* value) { *value = parse_bool(text, where); },
                 [&](int64_t* value) { *value = integer(); },
                 [&](double* value) {
                   *value = parse_number<double>(text, where, "a number");
                   check_bounds(setting, *value, where);
                 },
                 [&](std::string* value) { *value = text; },
                 [&](std::vector<std::string>*) {},
                 [&](std::optional<int64_t>* value) {
                   *value = text == "auto" ? std::nullopt : std::optional(integer());
                 },
                 [&](const Choice& choice) {
                   const bool known =
                       std::count(choice.names.begin(), choice.names.end(), text) > 0;
                   require(known, where, "there is no '{}'; choose one of {}", text,
                           fmt::join(choice.names, ", "));
                   choice.set(text);
                 },
             },
             setting.target);
}

std::vector<std::string> values_of(const Setting& setting) {
  using Values = std::vector<std::string>;
  return std::visit(Overloaded{
                        [](const bool* value) { return Values{*value ? "true" : "false"}; },
                        [](const int64_t* value) { return Values{fmt::format("{}", *value)}; },
                        [](const double* value) { return Values{number_text(*value)}; },
                        [](const std::string* value) { return Values{*value}; },
                        [](const std::vector<std::string>* value) { return *value; },
                        [](const std::optional<int64_t>* value) {
                          return Values{*value ? fmt::format("{}", **value) : "auto"};
                        },
                        [](const Choice& choice) { return Values{choice.get()}; },
                    },
                    setting.target);
}

bool is_flag(const Setting& setting) {
  return std::holds_alternative<bool*>(setting.target);
}

bool is_list(const Setting& setting) {
  return std::holds_alternative<std::vector<std::string>*>(setting.target);
}

bool is_text(const Setting& setting) {
  const auto* number = std::get_if<std::optional<int64_t>*>(&setting.target);
  return number != nullptr ? !**number : takes_text(setting);
}

bool takes_text(const Setting& setting) {
  return std::holds_alternative<std::string*>(setting.target) ||
         std::holds_alternative<Choice>(setting.target) || is_list(setting) ||
         std::holds_alternative<std::optional<int64_t>*>(setting.target);
}

bool takes_bare(const Setting& setting) {
  return !takes_text(setting) || std::holds_alternative<std::optional<int64_t>*>(setting.target);
}

const Setting* find_setting(std::span<const Setting> settings, std::string_view name) {
  const auto match = std::find_if(settings.begin(), settings.end(),
                                  [&](const Setting& s) { return s.name == name; });
  return match == settings.end() ? nullptr : &*match;
}

std::vector<std::string> names_of(std::span<const Setting> settings) {
  std::vector<std::string> names;
  for (const Setting& setting : settings) names.push_back(setting.name);
  return names;
}

}  // namespace tapir::app
