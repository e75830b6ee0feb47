// Tells a story: expands the grammar's rules and keeps the facts of the story's world.
#pragma once

#include <string>
#include <vector>

#include "apps/corpus/chooser.h"
#include "apps/corpus/grammar.h"

namespace tapir::app::grammar {

class Narrator {
 public:
  Narrator(const Grammar& grammar, Chooser& chooser);
  // Expands the start rule; a story ends with a newline. Throws std::logic_error where the grammar
  // asks for something that does not exist, and what the chooser throws.
  void tell();

 private:
  bool holds(const Guard& guard) const;
  // The single entry of a source; the grammar's author must only use it where there is one.
  const Entry& value(const Source& source) const;
  const List& list(const Source& source) const;

  void expand(const std::vector<Piece>& pieces);
  void call(const Rule& rule);
  size_t choose_alternative(const Rule& rule, bool extras);
  void draw(const Piece& piece);
  void collect_entries(const List& choices, const Piece& piece, bool may_repeat);
  void bind(int fact, const Entry& entry);
  void append_head(const Alternative& alternative);

  const Grammar& grammar_;
  Chooser& chooser_;
  std::vector<const Entry*> facts_;
  std::vector<bool> told_;          // by item id: bound to a fact at some time in this story
  uint32_t sentence_ = 0;           // the number of the rule's expansion at hand
  std::vector<uint32_t> drawn_in_;  // by word: the last sentence in which it was drawn
  // Of the choice at hand: its options, what they are the index of, and the text of their heads.
  std::vector<Option> options_;
  std::vector<uint32_t> indices_;
  std::string heads_;
  std::vector<size_t> ends_;
};

}  // namespace tapir::app::grammar
