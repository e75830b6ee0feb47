#include "apps/config/config_file.h"

#include <algorithm>

#include "apps/cli/suggest.h"
#include "apps/config/toml.h"
#include "apps/tokenizer/file_io.h"

namespace tapir::app {
namespace {

std::vector<std::string> sections_of(std::span<const Setting> settings) {
  std::vector<std::string> sections;
  for (const Setting& setting : settings) {
    if (std::find(sections.begin(), sections.end(), setting.group) == sections.end()) {
      sections.push_back(setting.group);
    }
  }
  return sections;
}

const Setting& setting_of(const TomlEntry& entry, std::span<const Setting> settings,
                          const std::string& where) {
  const std::vector<std::string> sections = sections_of(settings);
  const bool known = std::find(sections.begin(), sections.end(), entry.section) != sections.end();
  require(known || entry.section.empty(), where, "there is no section [{}]{}", entry.section,
          did_you_mean(entry.section, sections));
  const Setting* setting = find_setting(settings, entry.key);
  require(setting != nullptr, where, "there is no setting '{}'{}", entry.key,
          did_you_mean(entry.key, names_of(settings)));
  require(setting->group == entry.section, where, "{} belongs into the section [{}]", entry.key,
          setting->group);
  return *setting;
}

std::string value_text(const Setting& setting) {
  std::vector<std::string> values = values_of(setting);
  if (is_text(setting)) {
    for (std::string& value : values) value = toml_quote(value);
  }
  return is_list(setting) ? fmt::format("[{}]", fmt::join(values, ", ")) : values[0];
}

}  // namespace

void read_config_file(const std::filesystem::path& path, std::span<const Setting> settings) {
  const std::string file = path.string();
  for (const TomlEntry& entry : parse_toml(read_file(path), file)) {
    const std::string where = fmt::format("{}, line {}", file, entry.line);
    const Setting& setting = setting_of(entry, settings, where);
    const std::string key = fmt::format("{}: {}", where, entry.key);
    require(entry.array == is_list(setting), key, "expected {}",
            is_list(setting) ? "a list such as [\"a.txt\"]" : "one value, not a list");
    const std::string shown = entry.values.empty() ? "" : entry.values[0];
    const bool none = entry.values.empty();
    require(none || !entry.quoted || takes_text(setting), key,
            "expected a value without quotes, got \"{}\"", shown);
    require(none || entry.quoted || takes_bare(setting), key, "expected text in quotes, got {}",
            shown);
    assign(setting, entry.values, key);
  }
}

std::string config_text(std::span<const Setting> settings) {
  std::string text;
  for (const std::string& section : sections_of(settings)) {
    text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", section);
    for (const Setting& setting : settings) {
      if (setting.group != section) continue;
      text += fmt::format("# {}\n{} = {}\n", setting.help, setting.name, value_text(setting));
    }
  }
  return text;
}

}  // namespace tapir::app
