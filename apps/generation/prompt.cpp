#include "apps/generation/prompt.h"

#include <algorithm>

namespace tapir::app {

std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, int64_t documents,
                                   std::string_view prompt, SpecialText special) {
  std::vector<int32_t> ids;
  const auto own_start = tokenizer.begin_of_text();
  const auto start = own_start || documents < 2 ? own_start : tokenizer.end_of_text();
  if (start) ids.push_back(*start);
  tokenizer.encode_append(prompt.empty() && ids.empty() ? "\n" : prompt, ids, special);
  return ids;
}

std::vector<int32_t> end_ids(const Tokenizer& tokenizer, std::span<const int32_t> of_model) {
  std::vector<int32_t> ids;
  const auto add = [&](int32_t id) {
    if (std::count(ids.begin(), ids.end(), id) == 0) ids.push_back(id);
  };
  for (const int32_t id : of_model) add(id);
  if (const auto end = tokenizer.end_of_text()) add(*end);
  return ids;
}

}  // namespace tapir::app
