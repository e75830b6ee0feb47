#include "apps/config/toml.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "backends/error.h"

namespace tapir::app {
namespace {

bool is_bare(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

void append_utf8(std::string& text, uint32_t code) {
  const auto byte = [&](uint32_t bits) { text += static_cast<char>(bits); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | code >> 6);
    byte(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    byte(0xE0 | code >> 12);
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  } else {
    byte(0xF0 | code >> 18);
    byte(0x80 | (code >> 12 & 0x3F));
    byte(0x80 | (code >> 6 & 0x3F));
    byte(0x80 | (code & 0x3F));
  }
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view file) : text_(text), file_(file) {
    if (text_.starts_with("\xEF\xBB\xBF")) text_.remove_prefix(3);  // some editors begin with it
  }

  std::vector<TomlEntry> run() {
    for (skip_blank_lines(); !at_end(); skip_blank_lines()) {
      if (peek() == '[') {
        read_section();
      } else {
        read_entry();
      }
      end_of_line();
    }
    return std::move(entries_);
  }

 private:
  template <typename... Args>
  [[noreturn]] void error(fmt::format_string<Args...> format, Args&&... args) const {
    fail(fmt::format("{}, line {}", file_, line_), "{}",
         fmt::format(format, std::forward<Args>(args)...));
  }

  bool at_end() const { return at_ >= text_.size(); }
  char peek() const { return at_end() ? '\n' : text_[at_]; }
  char take() {
    const char c = peek();
    if (c == '\n') ++line_;
    ++at_;
    return c;
  }
  // What stands here, for messages.
  std::string found() const {
    if (peek() == '\n') return "the end of the line";
    size_t size = 1;  // of the character in UTF-8
    while (at_ + size < text_.size() && (text_[at_ + size] & 0xC0) == 0x80) ++size;
    return std::string(text_.substr(at_, size));
  }

  void skip_spaces() {
    while (peek() == ' ' || peek() == '\t' || (peek() == '\r' && !at_end())) take();
  }
  void skip_comment() {
    if (peek() != '#') return;
    while (peek() != '\n') take();
  }
  void skip_blank_lines() {
    for (skip_spaces(), skip_comment(); !at_end() && peek() == '\n';
         skip_spaces(), skip_comment()) {
      take();
    }
  }
  void end_of_line() {
    skip_spaces();
    skip_comment();
    if (peek() != '\n') error("unexpected '{}' after the value", found());
    if (!at_end()) take();
  }

  std::string read_name(std::string_view what) {
    std::string name;
    while (is_bare(peek())) name += take();
    if (name.empty()) error("expected {}, found '{}'", what, found());
    return name;
  }

  void read_section() {
    take();
    if (peek() == '[') error("arrays of tables are not used here");
    skip_spaces();
    section_ = read_name("the name of a section");
    skip_spaces();
    if (peek() != ']') error("expected ']' after [{}, found '{}'", section_, found());
    take();
    if (!sections_.insert(section_).second) error("the section [{}] is here twice", section_);
  }

  void read_entry() {
    TomlEntry entry;
    entry.section = section_;
    entry.line = line_;
    entry.key = read_name("a key");
    skip_spaces();
    if (peek() != '=') error("expected '=' after {}, found '{}'", entry.key, found());
    take();
    if (!keys_.insert({section_, entry.key}).second) error("{} is set twice", entry.key);
    skip_spaces();
    if (peek() == '[') {
      read_array(entry);
    } else {
      entry.values.push_back(read_value(entry.quoted));
    }
    entries_.push_back(std::move(entry));
  }

  void read_array(TomlEntry& entry) {
    entry.array = entry.quoted = true;
    take();
    for (skip_blank_lines(); peek() != ']'; skip_blank_lines()) {
      if (at_end()) error("the array of {} has no end", entry.key);
      bool quoted = false;
      entry.values.push_back(read_value(quoted));
      entry.quoted = entry.quoted && quoted;
      skip_blank_lines();
      if (at_end()) error("the array of {} has no end", entry.key);
      if (peek() == ',') {
        take();
      } else if (peek() != ']') {
        error("expected ',' or ']' in the array of {}, found '{}'", entry.key, found());
      }
    }
    take();
  }

  std::string read_value(bool& quoted) {
    quoted = peek() == '"' || peek() == '\'';
    if (peek() == '"') return read_string();
    if (peek() == '\'') return read_literal();
    if (peek() == '{') error("tables in braces are not used here");
    std::string value;
    while (is_bare(peek()) || peek() == '.' || peek() == '+') {
      if (const char c = take(); c != '_') value += c;
    }
    if (value.empty()) error("expected a value, found '{}'", found());
    return value;
  }

  std::string read_string() {
    take();
    std::string value;
    while (peek() != '"') {
      if (peek() == '\n') error("the string has no closing quote");
      const char c = take();
      if (c == '\\') {
        read_escape(value);
      } else {
        value += c;
      }
    }
    take();
    return value;
  }

  std::string read_literal() {
    take();
    std::string value;
    while (peek() != '\'') {
      if (peek() == '\n') error("the string has no closing quote");
      value += take();
    }
    take();
    return value;
  }

  void read_escape(std::string& value) {
    constexpr std::string_view kNames = "btnfr\"\\", kMeanings = "\b\t\n\f\r\"\\";
    const std::string shown = found();
    const char c = take();
    if (const size_t index = kNames.find(c); index != std::string_view::npos) {
      value += kMeanings[index];
    } else if (c == 'u' || c == 'U') {
      append_utf8(value, read_code(c == 'u' ? 4 : 8));
    } else {
      error("there is no escape \\{} in strings; write \\\\ for a backslash", shown);
    }
  }

  uint32_t read_code(int digits) {
    uint32_t code = 0;
    for (int i = 0; i < digits; ++i) {
      const char c = static_cast<char>(peek() | 0x20);
      const bool digit = c >= '0' && c <= '9';
      if (!digit && !(c >= 'a' && c <= 'f')) error("\\u needs {} hexadecimal digits", digits);
      code = code * 16 + static_cast<uint32_t>(digit ? c - '0' : c - 'a' + 10);
      take();
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      error("\\u{:x} is no character", code);
    return code;
  }

  std::string_view text_, file_;
  size_t at_ = 0;
  int line_ = 1;
  std::string section_;
  std::set<std::string> sections_;
  std::set<std::pair<std::string, std::string>> keys_;
  std::vector<TomlEntry> entries_;
};

}  // namespace

std::vector<TomlEntry> parse_toml(std::string_view text, std::string_view file) {
  return Parser(text, file).run();
}

std::string toml_quote(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      quoted += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

}  // namespace tapir::app
