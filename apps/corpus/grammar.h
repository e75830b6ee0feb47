// The grammar of the built-in stories: word tables, rules, and the small notation in which both
// are written. docs/corpus.md describes the notation.
//
// A story is told by expanding rules. Wherever the text could go on in more than one way there is
// a choice with integer weights, and every choice writes text at once. The alternatives of each
// choice are prefix-free (no one begins with another), so a reader who knows what has been told so
// far can tell from the text alone which one was taken: a text has at most one derivation, and the
// sum of -log2(weight / total) over its choices is its exact information content.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tapir::app::grammar {

struct Item;
struct List;
struct Rule;

// The ways to write an entry: "kite", "Kite", "a kite", "A kite".
enum Form : uint8_t { kPlain, kCapital, kArticle, kCapitalArticle, kForms };

// One alternative of a list: what is written, how often, and what it stands for.
struct Entry {
  std::string text[kForms];
  uint32_t weight = 1;
  uint32_t word = 0;  // number of its first word: "egg" and "egg cup" have the same
  const Item* item = nullptr;
};

struct List {
  std::string name;
  std::string category;  // groups the lists in reports, for instance "name" or "adjective"
  std::vector<Entry> entries;
};

// A thing of the story's world; `attributes[a]` is its list for attribute a (null: it has none).
struct Item {
  uint32_t id = 0;
  std::map<uint16_t, const List*> attributes;

  const List* attribute(uint16_t a) const {
    const auto found = attributes.find(a);
    return found == attributes.end() ? nullptr : found->second;
  }
};

// Where a value comes from: a table's list, or an attribute of a fact (or the fact itself).
struct Source {
  const List* list = nullptr;
  int fact = -1;
  int attribute = -1;
  bool operator==(const Source&) const = default;
};

struct Piece {
  enum Kind : uint8_t {
    kLiteral,  // writes `text`
    kFact,     // writes the single value of `source`
    kDraw,     // chooses an entry of `source`, writes it, and remembers it as `bound` if >= 0
    kCall,     // expands `rule`
    kAssign,   // writes nothing: `bound` becomes the single value of `source`
  };
  Kind kind = kLiteral;
  Form form = kPlain;
  std::string text;
  Source source;
  int bound = -1;
  const Rule* rule = nullptr;
  char delimiter = 0;  // of a draw: the literal character that follows it (0: none)
};

// A condition on the facts: the source has a value (or, if negated, has none).
struct Guard {
  Source source;
  bool negated = false;
};

struct Alternative {
  uint32_t weight = 1;
  bool extra = false;  // an optional sentence: once it is told, the rule goes on with the others
  std::vector<Guard> guards;
  std::vector<Piece> pieces;
};

struct Rule {
  std::string name;
  bool is_inline = false;
  std::vector<Alternative> alternatives;
};

// The number of leading pieces that are certain once the alternative is taken: all before the first
// draw, call or assignment. Their text is what tells alternatives apart.
size_t head_length(const Alternative& alternative);

class Grammar {
 public:
  // Compiles word tables and rules. Throws std::logic_error naming the line for a malformed one:
  // the text is part of the program, so this is a mistake of the programmer.
  Grammar(const std::vector<std::string_view>& tables, const std::vector<std::string_view>& rules);
  Grammar(const Grammar&) = delete;
  Grammar& operator=(const Grammar&) = delete;

  const Rule& start() const { return *rules_by_name_.at("story"); }
  size_t fact_count() const { return facts_.size(); }
  size_t item_count() const { return items_.size(); }
  size_t word_count() const { return words_.size(); }
  std::string fact_name(int fact) const;
  const std::deque<Rule>& rules() const { return rules_; }
  const std::deque<List>& lists() const { return lists_; }

 private:
  friend class TableReader;
  friend class RuleReader;

  uint16_t attribute_id(std::string_view name);
  int fact_id(std::string_view name);
  uint32_t word_id(std::string_view word);
  const List* find_list(std::string_view name) const;

  std::deque<Item> items_;
  std::deque<List> lists_;
  std::deque<Rule> rules_;
  std::map<std::string, const List*, std::less<>> lists_by_name_;
  std::map<std::string, Rule*, std::less<>> rules_by_name_;
  std::map<std::string, uint16_t, std::less<>> attributes_;
  std::map<std::string, int, std::less<>> facts_;
  std::map<std::string, uint32_t, std::less<>> words_;
};

// The grammar of the built-in corpus, compiled at the first call.
const Grammar& story_grammar();

// Every way in which the grammar could be ambiguous, in words; empty for a sound grammar. It looks
// at all alternatives of all choices with every value that their facts could ever have, so an empty
// result proves that each text has at most one derivation.
std::vector<std::string> ambiguities(const Grammar& grammar);

}  // namespace tapir::app::grammar
