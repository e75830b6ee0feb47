// Small text helpers for reading the grammar's notation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapir::app::grammar {

// Without leading and trailing spaces.
std::string_view trim(std::string_view text);

// The trimmed parts between separators.
std::vector<std::string_view> split(std::string_view text, char separator);

// Takes a decimal number from the front of the text; false, and nothing taken, if there is none.
bool take_number(std::string_view& text, uint32_t& number);

// Takes `NUMBER*` from the front of the text, if it is there.
void take_weight(std::string_view& text, uint32_t& weight);

// The text up to the first space, comma or full stop.
std::string_view first_word(std::string_view text);

// The text with its first letter in upper case.
std::string capitalised(std::string_view text);

// "a kite", "an egg".
std::string with_indefinite_article(std::string_view noun);

}  // namespace tapir::app::grammar
