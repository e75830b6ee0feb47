// JSON from files that anyone may have written, read into a plain tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tapir::app {

// One value. nlohmann-json reads the text; its own tree would silently keep the last of two equal
// keys, and takes more than twice as long to build for a vocabulary.
class JsonValue {
 public:
  struct Member;
  using Array = std::vector<JsonValue>;
  using Object = std::vector<Member>;  // in the order of the file

  bool is_null() const { return std::holds_alternative<std::monostate>(value_); }
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }

  // Each is an Error if the value is of another type; `what` names it there ("model.vocab").
  const std::string& string(std::string_view what) const {
    return get<std::string>("a string", what);
  }
  int64_t integer(std::string_view what) const { return get<int64_t>("an integer", what); }
  double number(std::string_view what) const {
    const int64_t* const whole = std::get_if<int64_t>(&value_);
    return whole != nullptr ? static_cast<double>(*whole) : get<double>("a number", what);
  }
  bool boolean(std::string_view what) const { return get<bool>("true or false", what); }
  const Array& array(std::string_view what) const { return get<Array>("an array", what); }
  const Object& object(std::string_view what) const { return get<Object>("an object", what); }

  // As boolean, but `otherwise` for null.
  bool boolean_or(bool otherwise, std::string_view what) const {
    return is_null() ? otherwise : boolean(what);
  }

  // The member `key`, or a null value if there is none or this is no object.
  const JsonValue& operator[](std::string_view key) const;

  // Equal contents; the order of members does not matter.
  bool operator==(const JsonValue& other) const;

  // "null", "true", "3", "a string", "an array": for messages.
  std::string describe() const;

 private:
  friend class JsonBuilder;

  template <typename T>
  const T& get(std::string_view wanted, std::string_view what) const {
    const T* const found = std::get_if<T>(&value_);
    if (found == nullptr) fail_type(wanted, what);
    return *found;
  }
  [[noreturn]] void fail_type(std::string_view wanted, std::string_view what) const;

  std::variant<std::monostate, bool, int64_t, double, std::string, Array, Object> value_;
};

struct JsonValue::Member {
  std::string key;
  JsonValue value;
  bool operator==(const Member&) const = default;
};

// Malformed text, text that is not UTF-8, nesting deeper than 64, or a key that an object has
// twice is an Error under the name `op`.
JsonValue parse_strict_json(std::string_view text, std::string_view op);

// `text` as a JSON string with its quotes; what is not UTF-8 becomes U+FFFD.
std::string json_quote(std::string_view text);

}  // namespace tapir::app
