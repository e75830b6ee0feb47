// Reads word tables into a grammar.
//
//   @list NAME SHIFT CATEGORY                 entries separated by commas, on any number of lines
//   @table NAME SHIFT CATEGORY : COLUMN ...   one item a line: text | cell | cell ...
//   @union NAME SHIFT CATEGORY : TABLE ...    all entries of other tables, with their weights
//
// The entry of rank r has weight 10^9 / (r + SHIFT)^3, or 1 if SHIFT is 0. A leading `~` marks
// a mass noun ("some bread"), `+` a plural ("some buns"). A cell lists the values of its column's
// attribute; `-` is no value, `*TABLE` all entries of a table. COLUMN>TABLE looks the values up in
// a table; COLUMN>>TABLE also takes over the attributes of the first value.
#pragma once

#include <string_view>

#include "apps/corpus/grammar.h"

namespace tapir::app::grammar {

class TableReader {
 public:
  explicit TableReader(Grammar& grammar);
  void read(std::string_view text);

 private:
  struct Column {
    uint16_t attribute = 0;
    const List* values = nullptr;
    bool inherits = false;
  };

  void read_line(std::string_view line);
  void start_block(std::string_view header);
  void add_union(std::string_view members);
  void add_row(std::string_view line);
  void add_cell(Item& item, const Column& column, std::string_view cell);
  Entry make_entry(std::string_view text, size_t rank, int shift, const Item* item) const;
  Item& new_item(bool plural);

  Grammar& grammar_;
  const List* singular_ = nullptr;
  List* list_ = nullptr;
  int shift_ = 0;
  bool one_per_line_ = false;
  std::vector<Column> columns_;
};

}  // namespace tapir::app::grammar
