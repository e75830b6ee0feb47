// How much of a text was copied.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapir::app {

// Finds the longest passage of `text` that also stands in another text. Those other texts may be
// of any length: they are only read once, from front to back.
class OverlapFinder {
 public:
  explicit OverlapFinder(std::string_view text);

  // Looks through the next portion of another text.
  void search(std::string_view portion);
  // No passage reaches across the end of a text.
  void end_text() { state_ = length_ = 0; }
  // The longest common passage so far.
  std::string_view longest() const { return longest_; }

 private:
  // All passages of the text as an automaton: whoever follows the transitions from state 0 along a
  // passage arrives at a state. Source: Blumer et al. 1985, "The smallest automaton recognizing
  // the subwords of a text".
  struct State {
    int32_t length = 0;  // of the longest passage that leads here
    int32_t link = -1;   // the state of the longest ending of it that leads elsewhere
    int32_t end = 0;     // where one such passage ends in the text
    std::vector<std::pair<char, int32_t>> next;
  };

  void append(char c);
  int32_t follow(int32_t state, char c) const;  // -1: no such passage
  void set(int32_t state, char c, int32_t target);

  std::string text_;
  std::vector<State> states_;
  int32_t last_ = 0;
  int32_t state_ = 0, length_ = 0;  // of the passage that ends here in the other text
  std::string_view longest_;        // in text_
};

}  // namespace tapir::app
