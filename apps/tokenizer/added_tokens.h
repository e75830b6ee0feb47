// Tokens that are matched in the text before anything else looks at it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tapir::app {

// A token that stands for no text of its own, such as the end of a document, or one that a user
// added beside the learned vocabulary.
struct AddedToken {
  int32_t id = 0;
  std::string text;
  bool special = true;      // matched only when asked, left out by decode
  bool normalized = false;  // matched after those that are not, as in tokenizer.json
};

// Finds added tokens in a text: the leftmost first, and of those that start there the longest.
class AddedTokenMatcher {
 public:
  struct Match {
    size_t begin = 0;
    size_t end = 0;  // begin == end: nothing found
    int32_t id = -1;
  };

  AddedTokenMatcher() = default;
  explicit AddedTokenMatcher(const std::vector<AddedToken>& tokens);

  bool empty() const { return texts_.empty(); }

  // The first match that begins at or after `from`.
  Match find(std::string_view text, size_t from) const;

  // The largest cut such that `text` up to there means the same whatever comes after `text`, and
  // what follows the cut means the same without what is before it; 0 if there is none.
  // plain_cut(part) is the same for text in which no added token is to be found.
  template <typename PlainCut>
  size_t safe_cut(std::string_view text, PlainCut&& plain_cut) const {
    // Where an added token starts, or a longer one, is certain only if the longest would fit.
    const size_t margin = empty() ? 0 : longest_ - 1;
    if (text.size() <= margin) return 0;
    const size_t certain = text.size() - margin;
    size_t done = 0;
    while (done < certain) {
      const Match match = find(text, done);
      if (match.end == match.begin || match.begin >= certain) break;
      done = match.end;
    }
    return done < certain ? done + plain_cut(text.substr(done, certain - done)) : done;
  }

 private:
  // The first place from `from` on where some text may start; the end of `text` if there is none.
  size_t next_start(std::string_view text, size_t from) const;
  Match match_at(std::string_view text, size_t begin) const;

  std::vector<std::string> texts_;  // sorted, so that texts with one prefix are neighbours
  std::vector<int32_t> ids_;
  std::array<bool, 256> starts_{};  // does any text start with this byte
  size_t longest_ = 0;
};

}  // namespace tapir::app
