#include "apps/tokenizer/strict_json.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "apps/tokenizer/excerpt.h"
#include "apps/tokenizer/text_index.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr size_t kMaxDepth = 64;

}  // namespace

const JsonValue& JsonValue::operator[](std::string_view key) const {
  static const JsonValue null;
  if (const auto* const members = std::get_if<Object>(&value_)) {
    for (const Member& member : *members) {
      if (member.key == key) return member.value;
    }
  }
  return null;
}

bool JsonValue::operator==(const JsonValue& other) const {
  if (!is_object() || !other.is_object()) return value_ == other.value_;
  const auto sorted = [](const JsonValue& value) {
    std::vector<const Member*> members;
    for (const Member& member : std::get<Object>(value.value_)) members.push_back(&member);
    std::sort(members.begin(), members.end(),
              [](const Member* a, const Member* b) { return a->key < b->key; });
    return members;
  };
  const std::vector<const Member*> mine = sorted(*this);
  const std::vector<const Member*> theirs = sorted(other);
  return std::equal(mine.begin(), mine.end(), theirs.begin(), theirs.end(),
                    [](const Member* a, const Member* b) { return *a == *b; });
}

std::string JsonValue::describe() const {
  struct Describe {
    std::string operator()(std::monostate) const { return "null"; }
    std::string operator()(bool value) const { return value ? "true" : "false"; }
    std::string operator()(int64_t value) const { return fmt::format("{}", value); }
    std::string operator()(double value) const { return fmt::format("{}", value); }
    std::string operator()(const std::string& value) const {
      return value.size() <= 60 ? quoted_excerpt(value) : "a long string";
    }
    std::string operator()(const Array&) const { return "an array"; }
    std::string operator()(const Object&) const { return "an object"; }
  };
  return std::visit(Describe(), value_);
}

void JsonValue::fail_type(std::string_view wanted, std::string_view what) const {
  fail("json", "{} must be {}, found {}", what, wanted, describe());
}

// Receives the parser's events and grows the tree.
class JsonBuilder {
 public:
  explicit JsonBuilder(std::string_view op) : op_(op) {}

  JsonValue take() { return std::move(root_); }

  bool null() { return add(std::monostate()); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(int64_t value) { return add(value); }
  bool number_unsigned(uint64_t value) {
    constexpr auto kMax = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return value <= kMax ? add(static_cast<int64_t>(value)) : add(static_cast<double>(value));
  }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(nlohmann::json::binary_t&) { return false; }

  bool start_object(size_t) { return open(JsonValue::Object()); }
  bool start_array(size_t) { return open(JsonValue::Array()); }

  bool key(std::string& name) {
    std::get<JsonValue::Object>(open_.back()->value_).push_back({std::move(name), {}});
    return true;
  }

  bool end_object() {
    const auto& members = std::get<JsonValue::Object>(open_.back()->value_);
    TextIndex keys(members.size());
    for (const JsonValue::Member& member : members) {
      if (!keys.insert(member.key, 0))
        fail(op_, "key {} appears twice", quoted_excerpt(member.key));
    }
    open_.pop_back();
    return true;
  }

  bool end_array() {
    open_.pop_back();
    return true;
  }

  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception& error) {
    // Without the name that the library gives it. It quotes what it read last, of any length.
    constexpr size_t kMost = 200;
    const std::string_view what = error.what();
    fail(op_, "not valid JSON: {}", excerpt(what.substr(what.find("] ") + 2), kMost));
  }

 private:
  // Where the next value belongs.
  JsonValue& place() {
    if (open_.empty()) return root_;
    if (auto* const array = std::get_if<JsonValue::Array>(&open_.back()->value_)) {
      return array->emplace_back();
    }
    return std::get<JsonValue::Object>(open_.back()->value_).back().value;
  }

  template <typename T>
  bool add(T value) {
    place().value_ = std::move(value);
    return true;
  }

  template <typename T>
  bool open(T container) {
    require(open_.size() < kMaxDepth, op_, "JSON nested deeper than {}", kMaxDepth);
    JsonValue& value = place();
    value.value_ = std::move(container);
    open_.push_back(&value);  // stays valid: its container grows only after this value is closed
    return true;
  }

  std::string_view op_;
  JsonValue root_;
  std::vector<JsonValue*> open_;
};

JsonValue parse_strict_json(std::string_view text, std::string_view op) {
  JsonBuilder builder(op);
  nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &builder);
  return builder.take();
}

std::string json_quote(std::string_view text) {
  using Json = nlohmann::json;
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tapir::app
