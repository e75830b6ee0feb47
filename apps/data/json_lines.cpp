#include "apps/data/json_lines.h"

#include <algorithm>
#include <vector>

#include "apps/tokenizer/excerpt.h"
#include "apps/tokenizer/strict_json.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr size_t kLongestLine = size_t{64} << 20;

std::string list_fields(const JsonValue::Object& object) {
  constexpr size_t kShown = 10;
  std::vector<std::string> names;
  for (const JsonValue::Member& member : object) {
    if (names.size() == kShown) {
      names.push_back("...");
      break;
    }
    names.push_back(excerpt(member.key));
  }
  return names.empty() ? "has none" : fmt::format("has {}", fmt::join(names, ", "));
}

}  // namespace

JsonLines::JsonLines(std::string name, std::string field, Sink sink)
    : name_(std::move(name)), field_(std::move(field)), sink_(std::move(sink)) {}

void JsonLines::add(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    require(begun_.size() + part.size() <= kLongestLine, "data",
            "line {} of {} is longer than {} MiB; is it a file of JSON lines?", line_ + 1, name_,
            kLongestLine >> 20);
    if (end == std::string_view::npos) {
      begun_ += part;
      return;
    }
    if (begun_.empty()) {
      end_line(part);
    } else {
      begun_ += part;
      end_line(begun_);
      begun_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
}

void JsonLines::finish() {
  if (!begun_.empty()) end_line(begun_);
  begun_.clear();
}

void JsonLines::end_line(std::string_view line) {
  ++line_;
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
  const std::string where = fmt::format("{}, line {}", name_, line_);
  const JsonValue json = parse_strict_json(line, where);
  require(json.is_object(), where, "expected an object with the field \"{}\", found {}", field_,
          json.describe());
  const JsonValue::Object& object = json.object(where);
  if (std::none_of(object.begin(), object.end(),
                   [this](const JsonValue::Member& member) { return member.key == field_; })) {
    fail(where, "there is no field \"{}\"; the object {}; choose one with --jsonl-field", field_,
         list_fields(object));
  }
  const JsonValue& text = json[field_];
  require(text.is_string(), where, "the field \"{}\" must be text, found {}", field_,
          text.describe());
  if (!text.string(where).empty()) sink_(text.string(where));
}

}  // namespace tapir::app
