#include "apps/cli/setting_json.h"

#include "apps/cli/suggest.h"

namespace tapir::app {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Setting& setting) {
  const std::vector<std::string> values = values_of(setting);
  if (is_list(setting)) return values;
  if (is_text(setting)) return values[0];
  return Json::parse(values[0]);  // true, false or a number
}

std::vector<std::string> texts_of(const JsonValue& value, const std::string& what) {
  std::vector<std::string> texts;
  if (value.is_array()) {
    for (const JsonValue& element : value.array(what)) texts.push_back(element.string(what));
  } else if (value.is_string()) {
    texts.push_back(value.string(what));
  } else {
    texts.push_back(value.describe());
  }
  return texts;
}

}  // namespace

Json settings_to_json(std::span<const Setting> settings) {
  Json object = Json::object();
  for (const Setting& setting : settings) object[setting.name] = to_json(setting);
  return object;
}

void settings_from_json(const JsonValue& object, std::span<const Setting> settings,
                        std::string_view where) {
  for (const JsonValue::Member& member : object.object(where)) {
    const std::string what = fmt::format("{}: {}", where, member.key);
    const Setting* setting = find_setting(settings, member.key);
    require(setting != nullptr, where, "there is no setting '{}'{}", member.key,
            did_you_mean(member.key, names_of(settings)));
    assign(*setting, texts_of(member.value, what), what);
  }
}

}  // namespace tapir::app
