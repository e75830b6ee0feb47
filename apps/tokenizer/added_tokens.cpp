#include "apps/tokenizer/added_tokens.h"

#include <algorithm>
#include <utility>

namespace tapir::app {

AddedTokenMatcher::AddedTokenMatcher(const std::vector<AddedToken>& tokens) {
  std::vector<std::pair<std::string, int32_t>> sorted;
  for (const AddedToken& token : tokens) {
    if (!token.text.empty()) sorted.emplace_back(token.text, token.id);
  }
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [text, id] : sorted) {
    texts_.push_back(text);
    ids_.push_back(id);
    starts_[static_cast<unsigned char>(text[0])] = true;
    longest_ = std::max(longest_, text.size());
  }
}

AddedTokenMatcher::Match AddedTokenMatcher::find(std::string_view text, size_t from) const {
  for (size_t begin = next_start(text, from); begin < text.size();
       begin = next_start(text, begin + 1)) {
    const Match match = match_at(text, begin);
    if (match.end > match.begin) return match;
  }
  return {};
}

size_t AddedTokenMatcher::next_start(std::string_view text, size_t from) const {
  if (empty()) return text.size();
  if (texts_.front()[0] == texts_.back()[0])
    return std::min(text.find(texts_.front()[0], from), text.size());
  while (from < text.size() && !starts_[static_cast<unsigned char>(text[from])]) ++from;
  return from;
}

AddedTokenMatcher::Match AddedTokenMatcher::match_at(std::string_view text, size_t begin) const {
  Match match{begin, begin, -1};
  size_t low = 0;
  size_t high =
      texts_.size();  // texts_[low, high) agree with the text in their first `length` bytes
  for (size_t length = 0; low < high && begin + length < text.size(); ++length) {
    const char next = text[begin + length];
    const auto byte_at = [length](const std::string& candidate) {
      return length < candidate.size() ? static_cast<unsigned char>(candidate[length]) : -1;
    };
    const int wanted = static_cast<unsigned char>(next);
    const auto first = texts_.begin() + static_cast<std::ptrdiff_t>(low);
    const auto last = texts_.begin() + static_cast<std::ptrdiff_t>(high);
    const auto lower = std::partition_point(
        first, last, [&](const std::string& candidate) { return byte_at(candidate) < wanted; });
    const auto upper = std::partition_point(
        lower, last, [&](const std::string& candidate) { return byte_at(candidate) == wanted; });
    low = static_cast<size_t>(lower - texts_.begin());
    high = static_cast<size_t>(upper - texts_.begin());
    // A text that is fully matched sorts first among those that share it as a prefix.
    if (low < high && texts_[low].size() == length + 1) {
      match = {begin, begin + length + 1, ids_[low]};
    }
  }
  return match;
}

}  // namespace tapir::app
