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

std::string template_json(const std::string& text, int32_t id) {
  const std::string name = json_quote(text);
  const auto part = [&name](const char* sequence, int type_id) {
    return fmt::format(R"({{"SpecialToken":{{"id":{},"type_id":{}}}}},)"
                       R"({{"Sequence":{{"id":"{}","type_id":{}}}}})",
                       name, type_id, sequence, type_id);
  };
  const std::string first = part("A", 0);
  return fmt::format(R"({{"type":"TemplateProcessing","single":[{}],"pair":[{},{}],)"
                     R"("special_tokens":{{{}:{{"id":{},"ids":[{}],"tokens":[{}]}}}}}})",
                     first, first, part("B", 1), name, name, id, name);
}

std::string vocab_json(const std::vector<std::string>& texts) {
  std::string object;
  for (size_t id = 0; id < texts.size(); ++id) {
    object += fmt::format("{}{}:{}", id == 0 ? "" : ",", json_quote(texts[id]), id);
  }
  return "{" + object + "}";
}

}  // namespace tapir::app
