#include "apps/corpus/table_reader.h"

#include <stdexcept>

#include "apps/corpus/notation.h"

namespace tapir::app::grammar {
namespace {

constexpr int kCellShift = 12;
constexpr uint64_t kScale = 1'000'000'000;

[[noreturn]] void bad(std::string_view what, std::string_view where) {
  throw std::logic_error("corpus tables: " + std::string(what) + " in: " + std::string(where));
}

uint32_t weight_of_rank(size_t rank, int shift) {
  if (shift == 0) return 1;
  const uint64_t distance = rank + static_cast<uint64_t>(shift);
  return static_cast<uint32_t>(std::max<uint64_t>(1, kScale / (distance * distance * distance)));
}

// What pronouns and verbs agree with, for every noun: `{toy.it} {toy.was}`.
struct NumberWords {
  const char *attribute, *singular, *plural;
};
constexpr NumberWords kNumber[] = {
    {"it", "it", "they"},       {"them", "it", "them"},
    {"its", "its", "their"},    {"is", "is", "are"},
    {"was", "was", "were"},     {"has", "has", "have"},
    {"this", "this", "these"},  {"that", "that", "those"},
    {"looks", "looks", "look"}, {"wasnt", "was not", "were not"},
};

bool is_plural(std::string_view text) {
  return text.starts_with('+');
}

}  // namespace

TableReader::TableReader(Grammar& grammar) : grammar_(grammar) {
  for (const NumberWords& words : kNumber) {
    grammar_.attribute_id(words.attribute);
    for (const char* form : {words.singular, words.plural}) {
      const std::string name =
          std::string("number.") + words.attribute + (form == words.plural ? "+" : "");
      List& list = grammar_.lists_.emplace_back();
      list.name = name;
      list.category = "number";
      grammar_.lists_by_name_[name] = &list;
      Entry entry = make_entry(form, 0, 0, nullptr);
      entry.item =
          &grammar_.items_.emplace_back(Item{static_cast<uint32_t>(grammar_.items_.size()), {}});
      list.entries.push_back(entry);
    }
  }
}

Item& TableReader::new_item(bool plural) {
  Item& item = grammar_.items_.emplace_back();
  item.id = static_cast<uint32_t>(grammar_.items_.size() - 1);
  for (const NumberWords& words : kNumber) {
    item.attributes[grammar_.attribute_id(words.attribute)] =
        grammar_.lists_by_name_.at(std::string("number.") + words.attribute + (plural ? "+" : ""));
  }
  return item;
}

void TableReader::read(std::string_view text) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    read_line(trim(text.substr(0, end)));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
}

void TableReader::read_line(std::string_view line) {
  if (line.empty() || line.starts_with('#')) return;
  if (line.starts_with('@')) {
    start_block(line);
  } else if (!list_) {
    bad("a line before the first block", line);
  } else if (one_per_line_) {
    add_row(line);
  } else {
    for (const std::string_view text : split(line, ',')) {
      if (!text.empty()) add_row(text);
    }
  }
}

void TableReader::start_block(std::string_view header) {
  const std::vector<std::string_view> halves = split(header, ':');
  const std::vector<std::string_view> words = split(halves[0], ' ');
  if (words.size() != 4) bad("the header needs a kind, a name, a shift and a category", header);
  list_ = &grammar_.lists_.emplace_back();
  list_->name = words[1];
  list_->category = words[3];
  if (!grammar_.lists_by_name_.emplace(list_->name, list_).second) bad("name used twice", header);
  shift_ = std::stoi(std::string(words[2]));
  columns_.clear();
  one_per_line_ = words[0] == "@table";
  if (words[0] == "@union") return add_union(halves.at(1));
  if (!one_per_line_) return;
  for (const std::string_view column : split(halves.at(1), ' ')) {
    const size_t link = column.find('>');
    const bool inherits = link != std::string_view::npos && column.substr(link).starts_with(">>");
    const List* values = nullptr;
    if (link != std::string_view::npos) {
      values = grammar_.find_list(column.substr(link + (inherits ? 2 : 1)));
    }
    columns_.push_back({grammar_.attribute_id(column.substr(0, link)), values, inherits});
  }
}

void TableReader::add_union(std::string_view members) {
  for (const std::string_view member : split(members, ' ')) {
    const List* list = grammar_.find_list(member);
    list_->entries.insert(list_->entries.end(), list->entries.begin(), list->entries.end());
  }
}

Entry TableReader::make_entry(std::string_view text, size_t rank, int shift,
                              const Item* item) const {
  uint32_t weight = weight_of_rank(rank, shift);
  take_weight(text, weight);
  const bool mass = text.starts_with('~'), plural = is_plural(text);
  if (mass || plural) text.remove_prefix(1);
  Entry entry;
  entry.weight = weight;
  entry.word = grammar_.word_id(first_word(text));
  entry.item = item;
  entry.text[kPlain] = text;
  entry.text[kCapital] = capitalised(text);
  entry.text[kArticle] =
      mass || plural ? "some " + std::string(text) : with_indefinite_article(text);
  entry.text[kCapitalArticle] = capitalised(entry.text[kArticle]);
  return entry;
}

void TableReader::add_row(std::string_view line) {
  const std::vector<std::string_view> cells = split(line, '|');
  if (cells.size() != columns_.size() + 1) bad("wrong number of cells", line);
  Item& item = new_item(is_plural(cells[0]));
  for (size_t i = 0; i < columns_.size(); ++i) add_cell(item, columns_[i], cells[i + 1]);
  list_->entries.push_back(make_entry(cells[0], list_->entries.size(), shift_, &item));
}

void TableReader::add_cell(Item& item, const Column& column, std::string_view cell) {
  if (cell == "-") return;
  if (cell.starts_with('*')) {
    item.attributes[column.attribute] = grammar_.find_list(cell.substr(1));
    return;
  }
  List& list = grammar_.lists_.emplace_back();
  list.name = list_->name + " cell";
  list.category = column.values ? column.values->category : "detail";
  for (const std::string_view text : split(cell, ',')) {
    if (!column.values) {
      list.entries.push_back(
          make_entry(text, list.entries.size(), kCellShift, &new_item(is_plural(text))));
      continue;
    }
    const Entry* found = nullptr;
    for (const Entry& entry : column.values->entries) {
      if (entry.text[kPlain] == text) found = &entry;
    }
    if (!found) bad("not in table " + column.values->name, text);
    list.entries.push_back(*found);
    list.entries.back().weight = weight_of_rank(list.entries.size() - 1, kCellShift);
  }
  item.attributes[column.attribute] = &list;
  // `insert` keeps what the item has of its own, but number follows the row itself.
  if (column.inherits) {
    const auto& inherited = list.entries.front().item->attributes;
    item.attributes.insert(inherited.begin(), inherited.end());
  }
}

}  // namespace tapir::app::grammar
