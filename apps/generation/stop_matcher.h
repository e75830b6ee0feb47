// Ends a text at given strings, wherever token borders fall.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapir::app {

class StopMatcher {
 public:
  // Empty stop strings are an Error.
  explicit StopMatcher(std::vector<std::string> stops);

  // Takes the next bytes and gives back those that are text for certain: what may be the start of
  // a stop string waits. From the first stop string on, everything is dropped.
  std::string push(std::string_view bytes);
  // The end of the text: what still waits is text after all.
  std::string finish();

  bool stopped() const { return stopped_; }

 private:
  size_t length_of_possible_start() const;

  std::vector<std::string> stops_;
  std::string pending_;
  bool stopped_ = false;
};

}  // namespace tapir::app
