// Settings inside JSON files.
#pragma once

#include <nlohmann/json.hpp>

#include "apps/cli/setting.h"
#include "apps/tokenizer/strict_json.h"

namespace tapir::app {

// {"layers": 4, "ffn": "swiglu", "data": ["a.txt"], ...}
nlohmann::ordered_json settings_to_json(std::span<const Setting> settings);

// Sets what the object holds and leaves the rest. A member that is no setting or has the wrong
// form is an Error that begins with `where`.
void settings_from_json(const JsonValue& object, std::span<const Setting> settings,
                        std::string_view where);

}  // namespace tapir::app
