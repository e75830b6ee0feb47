#include "apps/corpus/rule_reader.h"

#include <cctype>
#include <numeric>
#include <stdexcept>

#include "apps/corpus/notation.h"

namespace tapir::app::grammar {
namespace {

[[noreturn]] void bad(std::string_view what, std::string_view where) {
  throw std::logic_error("corpus rules: " + std::string(what) + " in: " + std::string(where));
}

// The position of the bracket that closes the one at `open`.
size_t closing(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '[' || text[i] == '{') ++depth;
    if (text[i] == ']' || text[i] == '}') --depth;
    if (depth == 0) return i;
  }
  bad("a bracket is not closed", text);
}

bool take_capital(std::string& name) {
  if (name.empty() || !std::isupper(static_cast<unsigned char>(name[0]))) return false;
  name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
  return true;
}

uint32_t group_weight(const std::vector<Alternative>& group) {
  uint32_t total = 0;
  for (const Alternative& option : group) total += option.weight;
  return total;
}

// What an alternative becomes when its leading choice is made, with the weights of that choice; the
// alternative itself, with weight 1, if it does not begin with a wording or an unbound word list.
std::vector<Alternative> leading_options(const Alternative& alternative) {
  std::vector<Alternative> options;
  const auto add = [&](uint32_t weight, const std::vector<Piece>& first) {
    Alternative option = alternative;
    option.weight = weight;
    option.pieces = first;
    option.pieces.insert(option.pieces.end(), alternative.pieces.begin() + 1,
                         alternative.pieces.end());
    options.push_back(std::move(option));
  };
  const Piece* first = alternative.pieces.empty() ? nullptr : &alternative.pieces.front();
  if (first && first->kind == Piece::kCall && first->rule->is_inline) {
    for (const Alternative& inner : first->rule->alternatives) add(inner.weight, inner.pieces);
  } else if (first && first->kind == Piece::kDraw && first->source.list && first->bound < 0) {
    for (const Entry& entry : first->source.list->entries) {
      Piece literal;
      literal.text = entry.text[first->form];
      add(entry.weight, {literal});
    }
  } else {
    options.push_back(alternative);
    options.back().weight = 1;
  }
  return options;
}

bool is_hero_pronoun(std::string_view name) {
  return name == "he" || name == "his" || name == "him" || name == "himself";
}

}  // namespace

void RuleReader::read(std::string_view text) {
  std::string pending;
  const auto flush = [&] {
    if (!pending.empty()) add_alternative(pending);
    pending.clear();
  };
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.starts_with(' ')) {
      pending += ' ';
      pending += trim(line);
      continue;
    }
    flush();
    if (line.starts_with(':')) {
      rule_ = &rule_named(trim(line.substr(1)));
      if (!rule_->alternatives.empty()) bad("rule defined twice", line);
    } else if (!line.starts_with('#')) {
      pending = trim(line);
    }
  }
  flush();
}

void RuleReader::finish() {
  for (const auto& [name, rule] : grammar_.rules_by_name_) {
    if (rule->alternatives.empty()) bad("a rule without alternatives", name);
  }
  for (Rule& rule : grammar_.rules_) merge_leading_choices(rule);
}

// An alternative that begins with a choice has no text of its own to be known by. So the choice is
// merged into the rule's: `[Then|So] he ran` becomes two alternatives. The probabilities stay the
// same; weights are scaled to remain integers.
void RuleReader::merge_leading_choices(Rule& rule) const {
  uint32_t scale = 1;
  std::vector<std::vector<Alternative>> groups;
  for (const Alternative& alternative : rule.alternatives) {
    groups.push_back(leading_options(alternative));
    scale = std::lcm(scale, group_weight(groups.back()));
  }
  std::vector<Alternative> merged;
  for (size_t i = 0; i < groups.size(); ++i) {
    const uint32_t unit = rule.alternatives[i].weight * (scale / group_weight(groups[i]));
    for (Alternative& option : groups[i]) {
      option.weight *= unit;
      merged.push_back(std::move(option));
    }
  }
  rule.alternatives = std::move(merged);
}

Rule& RuleReader::rule_named(std::string_view name) {
  const auto found = grammar_.rules_by_name_.find(name);
  if (found != grammar_.rules_by_name_.end()) return *found->second;
  Rule& rule = grammar_.rules_.emplace_back();
  rule.name = name;
  grammar_.rules_by_name_.emplace(rule.name, &rule);
  return rule;
}

void RuleReader::add_alternative(std::string_view line) {
  if (!rule_) bad("an alternative before the first rule", line);
  Rule& rule = *rule_;
  Alternative alternative;
  std::string_view rest = line;
  if (rest.starts_with('+')) {
    alternative.extra = true;
    rest.remove_prefix(1);
  }
  if (!take_number(rest, alternative.weight)) bad("an alternative needs a weight", line);
  rest = trim(rest);
  while (rest.starts_with('?')) {
    const size_t end = rest.find(' ');
    alternative.guards.push_back(read_guard(rest.substr(1, end - 1)));
    rest = trim(rest.substr(end == std::string_view::npos ? rest.size() : end));
  }
  alternative.pieces = read_pieces(rest);
  rule.alternatives.push_back(std::move(alternative));
}

Guard RuleReader::read_guard(std::string_view text) {
  Guard guard;
  guard.negated = text.starts_with('!');
  if (guard.negated) text.remove_prefix(1);
  guard.source = read_source(text, false);
  return guard;
}

Source RuleReader::read_source(std::string_view text, bool may_be_table) {
  Source source;
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos && may_be_table) {
    source.list = grammar_.find_list(text);
  } else {
    source.fact = grammar_.fact_id(text.substr(0, dot));
    if (dot != std::string_view::npos)
      source.attribute = grammar_.attribute_id(text.substr(dot + 1));
  }
  return source;
}

std::vector<Piece> RuleReader::read_pieces(std::string_view text) {
  std::vector<Piece> pieces;
  while (!text.empty()) {
    const size_t special = text.find_first_of("{[");
    if (special != 0) {
      Piece literal;
      literal.text = text.substr(0, special);
      pieces.push_back(std::move(literal));
      if (special == std::string_view::npos) break;
      text.remove_prefix(special);
    }
    const size_t end = closing(text, 0);
    const std::string_view inner = text.substr(1, end - 1);
    pieces.push_back(text[0] == '{' ? read_slot(inner) : read_wordings(inner));
    text.remove_prefix(end + 1);
  }
  set_delimiters(pieces);
  return pieces;
}

// A letter that must follow helps to tell entries apart ("pear tart" from "pear"); where the text
// goes on with a choice there is none, and the entries must differ by themselves.
void RuleReader::set_delimiters(std::vector<Piece>& pieces) const {
  for (size_t i = 0; i + 1 < pieces.size(); ++i) {
    if (pieces[i].kind == Piece::kDraw && pieces[i + 1].kind == Piece::kLiteral) {
      pieces[i].delimiter = pieces[i + 1].text[0];
    }
  }
}

Piece RuleReader::read_slot(std::string_view slot) {
  Piece piece;
  if (slot.starts_with('@')) {
    piece.kind = Piece::kCall;
    piece.rule = &rule_named(slot.substr(1));
    return piece;
  }
  if (const size_t assign = slot.find(":="); assign != std::string_view::npos) {
    piece.kind = Piece::kAssign;
    piece.bound = grammar_.fact_id(slot.substr(0, assign));
    piece.source = read_source(slot.substr(assign + 2), false);
    return piece;
  }
  const bool article = slot.starts_with("a "), capital_article = slot.starts_with("A ");
  if (article || capital_article) slot.remove_prefix(2);
  const size_t equals = slot.find('=');
  std::string name(slot.substr(0, equals));
  std::string source(equals == std::string_view::npos ? "" : slot.substr(equals + 1));
  const bool capital = take_capital(name) || (name.empty() && take_capital(source));
  piece.form = capital_article ? kCapitalArticle : article ? kArticle : capital ? kCapital : kPlain;
  if (equals == std::string_view::npos) {
    piece.kind = Piece::kFact;
    piece.source = read_source(is_hero_pronoun(name) ? "hero." + name : name, false);
  } else {
    piece.kind = Piece::kDraw;
    piece.source = read_source(source, true);
    if (!name.empty()) piece.bound = grammar_.fact_id(name);
  }
  return piece;
}

Piece RuleReader::read_wordings(std::string_view text) {
  Rule& rule = grammar_.rules_.emplace_back();
  rule.name = text;
  rule.is_inline = true;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && (text[i] == '[' || text[i] == '{')) ++depth;
    if (i < text.size() && (text[i] == ']' || text[i] == '}')) --depth;
    if (depth > 0 || (i < text.size() && text[i] != '|')) continue;
    std::string_view wording = text.substr(begin, i - begin);
    Alternative alternative;
    take_weight(wording, alternative.weight);
    alternative.pieces = read_pieces(wording);
    rule.alternatives.push_back(std::move(alternative));
    begin = i + 1;
  }
  Piece piece;
  piece.kind = Piece::kCall;
  piece.rule = &rule;
  return piece;
}

}  // namespace tapir::app::grammar
