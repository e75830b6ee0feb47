#include "apps/corpus/narrator.h"

#include <stdexcept>

namespace tapir::app::grammar {

size_t head_length(const Alternative& alternative) {
  size_t n = 0;
  for (const Piece& piece : alternative.pieces) {
    if (piece.kind != Piece::kLiteral && piece.kind != Piece::kFact) break;
    ++n;
  }
  return n;
}

Narrator::Narrator(const Grammar& grammar, Chooser& chooser)
    : grammar_(grammar),
      chooser_(chooser),
      facts_(grammar.fact_count(), nullptr),
      told_(grammar.item_count(), false),
      drawn_in_(grammar.word_count(), 0) {}

void Narrator::tell() {
  call(grammar_.start());
  chooser_.write("\n");
}

bool Narrator::holds(const Guard& guard) const {
  const Entry* fact = facts_[guard.source.fact];
  const bool present =
      fact && (guard.source.attribute < 0 ||
               fact->item->attribute(static_cast<uint16_t>(guard.source.attribute)));
  return present != guard.negated;
}

const List& Narrator::list(const Source& source) const {
  if (source.list) return *source.list;
  const Entry* fact = facts_[source.fact];
  const List* found =
      fact ? fact->item->attribute(static_cast<uint16_t>(source.attribute)) : nullptr;
  if (!found) {
    throw std::logic_error("corpus grammar: no value for an attribute of fact " +
                           grammar_.fact_name(source.fact));
  }
  return *found;
}

const Entry& Narrator::value(const Source& source) const {
  if (source.list || source.attribute >= 0) return list(source).entries.front();
  if (!facts_[source.fact]) {
    throw std::logic_error("corpus grammar: fact " + grammar_.fact_name(source.fact) +
                           " has no value yet");
  }
  return *facts_[source.fact];
}

void Narrator::bind(int fact, const Entry& entry) {
  facts_[fact] = &entry;
  told_[entry.item->id] = true;
}

void Narrator::expand(const std::vector<Piece>& pieces) {
  for (const Piece& piece : pieces) {
    switch (piece.kind) {
      case Piece::kLiteral:
        chooser_.write(piece.text);
        break;
      case Piece::kFact:
        chooser_.write(value(piece.source).text[piece.form]);
        break;
      case Piece::kDraw:
        draw(piece);
        break;
      case Piece::kCall:
        call(*piece.rule);
        break;
      case Piece::kAssign:
        bind(piece.bound, value(piece.source));
        break;
    }
  }
}

void Narrator::call(const Rule& rule) {
  if (!rule.is_inline) ++sentence_;
  const Alternative* taken = &rule.alternatives[choose_alternative(rule, true)];
  expand(taken->pieces);
  if (!taken->extra) return;
  chooser_.write(" ");
  expand(rule.alternatives[choose_alternative(rule, false)].pieces);
}

size_t Narrator::choose_alternative(const Rule& rule, bool extras) {
  options_.clear();
  indices_.clear();
  heads_.clear();
  ends_.clear();
  for (uint32_t i = 0; i < rule.alternatives.size(); ++i) {
    const Alternative& alternative = rule.alternatives[i];
    if (alternative.extra && !extras) continue;
    bool open = true;
    for (const Guard& guard : alternative.guards) open = open && holds(guard);
    if (!open) continue;
    options_.push_back({alternative.weight, {}, 0});
    indices_.push_back(i);
    if (chooser_.reads()) append_head(alternative);
    ends_.push_back(heads_.size());
  }
  if (options_.empty()) {
    throw std::logic_error("corpus grammar: no alternative is open in rule " + rule.name);
  }
  for (size_t i = 0; i < options_.size(); ++i) {
    const size_t begin = i == 0 ? 0 : ends_[i - 1];
    options_[i].text = std::string_view(heads_).substr(begin, ends_[i] - begin);
  }
  return indices_[chooser_.choose(options_, rule.is_inline ? "wording" : "sentence")];
}

void Narrator::append_head(const Alternative& alternative) {
  const size_t n = head_length(alternative);
  for (size_t i = 0; i < n; ++i) {
    const Piece& piece = alternative.pieces[i];
    heads_ += piece.kind == Piece::kLiteral ? piece.text : value(piece.source).text[piece.form];
  }
}

// A draw never repeats what the story has given a role (a second friend, place or toy is another),
// nor a word that was drawn in the same sentence ("a lazy, shy, lazy mouse"), unless nothing else
// is left. The reader knows all this too, so it makes no choice ambiguous.
void Narrator::draw(const Piece& piece) {
  const List& choices = list(piece.source);
  collect_entries(choices, piece, false);
  if (options_.empty()) collect_entries(choices, piece, true);
  if (options_.empty()) {
    throw std::logic_error("corpus grammar: nothing is left in list " + choices.name);
  }
  const Entry& entry = choices.entries[indices_[chooser_.choose(options_, choices.category)]];
  drawn_in_[entry.word] = sentence_;
  if (piece.bound >= 0) bind(piece.bound, entry);
  chooser_.write(entry.text[piece.form]);
}

void Narrator::collect_entries(const List& choices, const Piece& piece, bool may_repeat) {
  options_.clear();
  indices_.clear();
  for (uint32_t i = 0; i < choices.entries.size(); ++i) {
    const Entry& entry = choices.entries[i];
    if (told_[entry.item->id] || (!may_repeat && drawn_in_[entry.word] == sentence_)) continue;
    options_.push_back({entry.weight, entry.text[piece.form], piece.delimiter});
    indices_.push_back(i);
  }
}

}  // namespace tapir::app::grammar
