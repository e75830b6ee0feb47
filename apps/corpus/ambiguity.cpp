// The proof that the grammar is unambiguous: a search for two alternatives of one choice of which
// one could be a prefix of the other.
#include <algorithm>
#include <set>

#include "apps/corpus/grammar.h"

namespace tapir::app::grammar {
namespace {

using Entries = std::set<const Entry*>;

bool prefix_related(std::string_view a, std::string_view b) {
  return a.starts_with(b) || b.starts_with(a);
}

class Search {
 public:
  explicit Search(const Grammar& grammar) : grammar_(grammar), domains_(grammar.fact_count()) {
    while (grow_domains()) {
    }
  }

  std::vector<std::string> run() {
    for (const Rule& rule : grammar_.rules()) {
      check_alternatives(rule);
      for (const Alternative& alternative : rule.alternatives) {
        for (const Piece& piece : alternative.pieces) {
          if (piece.kind == Piece::kDraw) check_draw(piece, rule);
        }
      }
    }
    std::sort(problems_.begin(), problems_.end());
    problems_.erase(std::unique(problems_.begin(), problems_.end()), problems_.end());
    return std::move(problems_);
  }

 private:
  // The lists that a source can ever stand for.
  std::set<const List*> lists_of(const Source& source) const {
    if (source.list) return {source.list};
    std::set<const List*> lists;
    for (const Entry* entry : domains_[source.fact]) {
      const List* list = entry->item->attribute(static_cast<uint16_t>(source.attribute));
      if (list) lists.insert(list);
    }
    return lists;
  }

  // The entries that a written fact or attribute can ever be.
  Entries values_of(const Source& source) const {
    if (!source.list && source.attribute < 0) return domains_[source.fact];
    Entries entries;
    for (const List* list : lists_of(source)) entries.insert(&list->entries.front());
    return entries;
  }

  // Adds to the domain of each fact what the grammar can bind to it; false when nothing is new.
  bool grow_domains() {
    size_t before = 0, after = 0;
    for (const Entries& domain : domains_) before += domain.size();
    for (const Rule& rule : grammar_.rules()) {
      for (const Alternative& alternative : rule.alternatives) {
        for (const Piece& piece : alternative.pieces) {
          if (piece.bound >= 0) grow(piece);
        }
      }
    }
    for (const Entries& domain : domains_) after += domain.size();
    return after > before;
  }

  void grow(const Piece& piece) {
    Entries& domain = domains_[piece.bound];
    if (piece.kind == Piece::kAssign) {
      const Entries values = values_of(piece.source);
      domain.insert(values.begin(), values.end());
      return;
    }
    for (const List* list : lists_of(piece.source)) {
      for (const Entry& entry : list->entries) domain.insert(&entry);
    }
  }

  void check_draw(const Piece& piece, const Rule& rule) {
    for (const List* list : lists_of(piece.source)) {
      std::vector<std::string> texts;
      for (const Entry& entry : list->entries) {
        texts.push_back(entry.text[piece.form]);
        if (piece.delimiter) texts.back() += piece.delimiter;
      }
      // In sorted order a prefix stands directly before something that it begins.
      std::sort(texts.begin(), texts.end());
      for (size_t i = 1; i < texts.size(); ++i) {
        if (texts[i].starts_with(texts[i - 1])) {
          problems_.push_back("list " + list->name + " in rule " + rule.name + ": '" +
                              texts[i - 1] + "' begins '" + texts[i] + "'");
        }
      }
    }
  }

  static bool exclude_each_other(const Alternative& a, const Alternative& b) {
    for (const Guard& x : a.guards) {
      for (const Guard& y : b.guards) {
        if (x.source == y.source && x.negated != y.negated) return true;
      }
    }
    return false;
  }

  void check_alternatives(const Rule& rule) {
    for (size_t i = 0; i < rule.alternatives.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const Alternative &a = rule.alternatives[j], &b = rule.alternatives[i];
        if (exclude_each_other(a, b)) continue;
        const Head head_a{&a, head_length(a)}, head_b{&b, head_length(b)};
        if (!differ(head_a, head_b, {}, {})) {
          problems_.push_back("rule " + rule.name + ": alternatives " + std::to_string(j + 1) +
                              " and " + std::to_string(i + 1));
        }
      }
    }
  }

  // What is left of an alternative's head.
  struct Head {
    const Alternative* alternative;
    size_t end;
    size_t next = 0;

    bool done() const { return next == end; }
    const Piece& piece() const { return alternative->pieces[next]; }
    Head rest() const { return {alternative, end, next + 1}; }
  };

  static bool same_value(const Piece& a, const Piece& b) {
    return a.kind == Piece::kFact && b.kind == Piece::kFact && a.source == b.source &&
           a.form == b.form;
  }

  // Whether, for all values of the facts, text a followed by `head_a` differs at some byte from
  // text b followed by `head_b`.
  bool differ(const Head& head_a, const Head& head_b, std::string_view a,
              std::string_view b) const {
    if (!prefix_related(a, b)) return true;
    const size_t common = std::min(a.size(), b.size());
    a.remove_prefix(common);
    b.remove_prefix(common);
    if (a.empty() && b.empty()) {
      if (head_a.done() || head_b.done()) return false;
      if (same_value(head_a.piece(), head_b.piece())) {
        return differ(head_a.rest(), head_b.rest(), {}, {});
      }
    }
    if (a.empty()) return differ_for_all_values(head_a, head_b, b);
    return differ_for_all_values(head_b, head_a, a);
  }

  // The same, where nothing is left of the text before `head_a`.
  bool differ_for_all_values(const Head& head_a, const Head& head_b, std::string_view b) const {
    if (head_a.done()) return false;
    const Piece& piece = head_a.piece();
    if (piece.kind == Piece::kLiteral) return differ(head_a.rest(), head_b, piece.text, b);
    const Entries values = values_of(piece.source);
    return std::all_of(values.begin(), values.end(), [&](const Entry* value) {
      return differ(head_a.rest(), head_b, value->text[piece.form], b);
    });
  }

  const Grammar& grammar_;
  std::vector<Entries> domains_;
  std::vector<std::string> problems_;
};

}  // namespace

std::vector<std::string> ambiguities(const Grammar& grammar) {
  return Search(grammar).run();
}

}  // namespace tapir::app::grammar
