// Reads rules into a grammar.
//
//   :NAME                            starts a rule; its alternatives follow, one a line
//   WEIGHT [?GUARD ...] TEXT         an alternative; lines that begin with a space continue it
//   +WEIGHT [?GUARD ...] TEXT        an optional sentence before one of the other alternatives
//
// A guard is `?fact`, `?!fact`, `?fact.attribute` or `?!fact.attribute`. In the text:
//
//   {toy}  {friend.his}              the value of a fact, or of its attribute
//   {toy=toys}  {toy=place.finds}    draws an entry, writes it and remembers it as the fact `toy`
//   {=colours}                       draws and writes
//   {@rule}                          expands a rule
//   {holder:=friend}                 writes nothing, copies a fact
//   [one|two|3*three]                a choice of wordings, with weights
//
// A capital first letter writes the value capitalised, a leading `a ` or `A ` writes it with its
// article. {he}, {his}, {him} and {himself} alone mean the hero's.
#pragma once

#include <string_view>

#include "apps/corpus/grammar.h"

namespace tapir::app::grammar {

class RuleReader {
 public:
  explicit RuleReader(Grammar& grammar) : grammar_(grammar) {}
  void read(std::string_view text);
  // Must be called after the last text: every rule that is called must exist.
  void finish();

 private:
  Rule& rule_named(std::string_view name);
  void add_alternative(std::string_view line);
  Guard read_guard(std::string_view text);
  std::vector<Piece> read_pieces(std::string_view text);
  Piece read_slot(std::string_view slot);
  Piece read_wordings(std::string_view text);
  Source read_source(std::string_view text, bool may_be_table);
  void merge_leading_choices(Rule& rule) const;
  void set_delimiters(std::vector<Piece>& pieces) const;

  Grammar& grammar_;
  Rule* rule_ = nullptr;
};

}  // namespace tapir::app::grammar
