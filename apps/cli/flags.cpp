#include "apps/cli/flags.h"

#include <algorithm>

namespace tapir::app {
namespace {

std::string placeholder(const Setting& setting) {
  if (const auto* choice = std::get_if<Choice>(&setting.target)) {
    return fmt::format("{}", fmt::join(choice->names, "|"));
  }
  if (std::holds_alternative<double*>(setting.target)) return "X";
  return is_list(setting) || std::holds_alternative<std::string*>(setting.target) ? "TEXT" : "N";
}

std::string with_default(const Setting& setting) {
  const std::vector<std::string> values = values_of(setting);
  const bool none = values.empty() || values[0].empty();
  return none ? setting.help : fmt::format("{} [{}]", setting.help, fmt::join(values, " "));
}

bool has_positionals(const CLI::App& command) {
  const auto options = command.get_options();
  return std::any_of(options.begin(), options.end(),
                     [](const CLI::Option* option) { return option->get_positional(); });
}

}  // namespace

Flags::Flags(CLI::App& command, std::vector<Setting> settings) : settings_(std::move(settings)) {
  for (const Setting& setting : settings_) add(command, setting);
}

void Flags::add(CLI::App& command, const Setting& setting) {
  const std::string flag = "--" + setting.name;
  if (is_flag(setting)) {
    const auto keep = [this, name = setting.name](int64_t count) {
      given_[name] = {count > 0 ? "true" : "false"};
    };
    const std::string help = setting.help + (values_of(setting)[0] == "true" ? " [on]" : "");
    command.add_flag_function(fmt::format("{},!--no-{}", flag, setting.name), keep, help)
        ->group(setting.group);
    return;
  }
  const auto keep = [this, name = setting.name](const std::vector<std::string>& values) {
    given_[name] = values;
  };
  CLI::Option* option =
      command.add_option_function<std::vector<std::string>>(flag, keep, with_default(setting));
  option->type_name(placeholder(setting))->group(setting.group);
  if (is_list(setting)) {
    // Beside positional arguments each --name takes one value, so that it leaves those alone.
    option->expected(1, -1)->allow_extra_args(!has_positionals(command));
  } else {
    option->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
}

void Flags::apply() const {
  for (const Setting& setting : settings_) {
    const auto given = given_.find(setting.name);
    if (given != given_.end()) assign(setting, given->second, "--" + setting.name);
  }
}

}  // namespace tapir::app
