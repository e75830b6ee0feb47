#include "apps/tokenizer/json_parts.h"

#include <fmt/format.h>

#include "apps/tokenizer/strict_json.h"

namespace tapir::app {

std::string added_tokens_json(const std::vector<AddedToken>& added) {
  std::string list;
  for (const AddedToken& token : added) {
    list += fmt::format(
        R"({}{{"id":{},"content":{},"single_word":false,"lstrip":false,"rstrip":false,)"
        R"("normalized":{},"special":{}}})",
        list.empty() ? "" : ",", token.id, json_quote(token.text), token.normalized, token.special);
  }
  return "[" + list + "]";
}

std::string vocab_json(const std::vector<std::string>& texts) {
  std::string object;
  for (size_t id = 0; id < texts.size(); ++id) {
    object += fmt::format("{}{}:{}", id == 0 ? "" : ",", json_quote(texts[id]), id);
  }
  return "{" + object + "}";
}

}  // namespace tapir::app
