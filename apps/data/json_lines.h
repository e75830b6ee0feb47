// Documents in JSON lines: one object a line, with the text in one of its fields.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace tapir::app {

class JsonLines {
 public:
  using Sink = std::function<void(std::string_view text)>;

  // `sink` gets each line's text. `name` of the file is for messages.
  JsonLines(std::string name, std::string field, Sink sink);

  // The next bytes of the file. A line that is no object, lacks the field, holds something else
  // than text there or is longer than 64 MiB is an Error that names the line.
  void add(std::string_view bytes);

  // The last line need not end in a line feed.
  void finish();

 private:
  void end_line(std::string_view line);

  std::string name_, field_;
  Sink sink_;
  std::string begun_;  // a line that is not complete
  int64_t line_ = 0;   // counted from 1
};

}  // namespace tapir::app
