#include "apps/corpus/notation.h"

#include <cctype>
#include <charconv>

namespace tapir::app::grammar {

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t end = text.find(separator);
    parts.push_back(trim(text.substr(0, end)));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

bool take_number(std::string_view& text, uint32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return true;
}

void take_weight(std::string_view& text, uint32_t& weight) {
  std::string_view rest = text;
  uint32_t number = 0;
  if (!take_number(rest, number) || !rest.starts_with('*')) return;
  weight = number;
  text = rest.substr(1);
}

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_of(" ,."));
}

std::string capitalised(std::string_view text) {
  std::string result(text);
  if (!result.empty()) {
    result[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(result[0])));
  }
  return result;
}

std::string with_indefinite_article(std::string_view noun) {
  // The sound decides, not the letter: "an hour", "a unicorn".
  for (const std::string_view silent : {"hour", "honest"}) {
    if (noun.starts_with(silent)) return "an " + std::string(noun);
  }
  for (const std::string_view consonant : {"uni", "use", "uku", "one-", "one ", "ewe"}) {
    if (noun.starts_with(consonant)) return "a " + std::string(noun);
  }
  const bool vowel = !noun.empty() && std::string_view("aeiouAEIOU").find(noun[0]) < 10;
  return (vowel ? "an " : "a ") + std::string(noun);
}

}  // namespace tapir::app::grammar
