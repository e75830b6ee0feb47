#include "apps/corpus/grammar.h"

#include <stdexcept>

#include "apps/corpus/rule_reader.h"
#include "apps/corpus/table_reader.h"

namespace tapir::app::grammar {

Grammar::Grammar(const std::vector<std::string_view>& tables,
                 const std::vector<std::string_view>& rules) {
  TableReader table_reader(*this);
  for (const std::string_view text : tables) table_reader.read(text);
  RuleReader rule_reader(*this);
  for (const std::string_view text : rules) rule_reader.read(text);
  rule_reader.finish();
}

uint16_t Grammar::attribute_id(std::string_view name) {
  const auto next = static_cast<uint16_t>(attributes_.size());
  return attributes_.try_emplace(std::string(name), next).first->second;
}

int Grammar::fact_id(std::string_view name) {
  return facts_.try_emplace(std::string(name), static_cast<int>(facts_.size())).first->second;
}

uint32_t Grammar::word_id(std::string_view word) {
  const auto next = static_cast<uint32_t>(words_.size());
  return words_.try_emplace(std::string(word), next).first->second;
}

std::string Grammar::fact_name(int fact) const {
  for (const auto& [name, id] : facts_) {
    if (id == fact) return name;
  }
  return "?";
}

const List* Grammar::find_list(std::string_view name) const {
  const auto found = lists_by_name_.find(name);
  if (found == lists_by_name_.end()) {
    throw std::logic_error("corpus grammar: no table is called " + std::string(name));
  }
  return found->second;
}

}  // namespace tapir::app::grammar
