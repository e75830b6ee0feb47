#include "apps/generation/prompt.h"

namespace tapir::app {

std::vector<int32_t> encode_prompt(const Tokenizer& tokenizer, int64_t documents,
                                   std::string_view prompt) {
  std::vector<int32_t> ids;
  const auto own_start = tokenizer.begin_of_text();
  const auto start = own_start || documents < 2 ? own_start : tokenizer.end_of_text();
  if (start) ids.push_back(*start);
  tokenizer.encode_append(prompt.empty() && ids.empty() ? "\n" : prompt, ids);
  return ids;
}

}  // namespace tapir::app
