// "Did you mean": the known word that is closest to a mistyped one.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tapir::app {

// The least number of insertions, deletions, substitutions and swaps of neighbours that turn one
// word into the other. Source: Damerau 1964, in the "optimal string alignment" form.
int64_t edit_distance(std::string_view a, std::string_view b);

// The closest of `words`, or "" when none is close enough to be what was meant.
std::string closest_word(std::string_view word, std::span<const std::string> words);

// "; did you mean X?" or "".
std::string did_you_mean(std::string_view word, std::span<const std::string> words);

}  // namespace tapir::app
