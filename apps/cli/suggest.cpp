#include "apps/cli/suggest.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

namespace tapir::app {

int64_t edit_distance(std::string_view a, std::string_view b) {
  const size_t columns = b.size() + 1;
  std::vector<int64_t> table((a.size() + 1) * columns);
  const auto at = [&](size_t i, size_t j) -> int64_t& { return table[i * columns + j]; };
  for (size_t j = 0; j <= b.size(); ++j) at(0, j) = static_cast<int64_t>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    at(i, 0) = static_cast<int64_t>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      at(i, j) = std::min(
          {at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  }
  return table.back();
}

std::string closest_word(std::string_view word, std::span<const std::string> words) {
  // One mistake in three letters is still the same word; a long common start counts too, because
  // people shorten ("--temp").
  std::string best;
  int64_t best_distance = static_cast<int64_t>(word.size()) / 3 + 1;
  for (const std::string& candidate : words) {
    const int64_t distance = edit_distance(word, candidate);
    if (distance < best_distance || (best.empty() && distance == best_distance)) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty() || word.size() < 3) return best;
  const auto starts = [&](const std::string& candidate) { return candidate.starts_with(word); };
  const auto match = std::find_if(words.begin(), words.end(), starts);
  return match == words.end() ? "" : *match;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> words) {
  const std::string best = closest_word(word, words);
  return best.empty() ? "" : fmt::format("; did you mean {}?", best);
}

}  // namespace tapir::app
