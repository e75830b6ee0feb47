// Cuts text into the pieces within which BPE merges bytes.
#pragma once

#include <memory>
#include <string_view>

#include "apps/tokenizer/char_class.h"
#include "apps/tokenizer/regex.h"
#include "apps/tokenizer/split_rule.h"

namespace tapir::app {

// The end of the piece that starts at `begin` < `end` under GPT-2's pattern, written by hand since
// it is several times faster than a regular expression. Invalid bytes end a text, as they do for a
// regular expression, and a run of them is a piece.
inline const char* gpt2_piece_end(const char* begin, const char* end);

// One text at a time; keeps the working memory of the regular expression between texts.
class PieceSplitter {
 public:
  explicit PieceSplitter(SplitRule rule);

  // Calls visit(begin, end) for each piece, in order; the pieces together are the whole text.
  template <typename Visit>
  void for_each(std::string_view text, Visit&& visit) {
    const char* at = text.data();
    const char* const end = at + text.size();
    if (rule_ == SplitRule::kGpt2) {
      while (at < end) {
        const char* const piece_end = gpt2_piece_end(at, end);
        visit(at, piece_end);
        at = piece_end;
      }
    } else {
      while (at < end) at = for_each_valid(at, end, visit);
    }
  }

 private:
  // Valid UTF-8 up to the first invalid byte, then the run of invalid ones.
  template <typename Visit>
  const char* for_each_valid(const char* begin, const char* end, Visit& visit) {
    const std::string_view rest(begin, static_cast<size_t>(end - begin));
    const std::string_view valid = rest.substr(0, valid_utf8_prefix(rest));
    size_t at = 0;
    while (at < valid.size()) {
      const size_t piece_end = matcher_->find(valid, at).end;
      visit(begin + at, begin + piece_end);
      at = piece_end;
    }
    const char* const invalid = begin + valid.size();
    const char* const next = skip_class(invalid, end, CharClass::kInvalid);
    if (next > invalid) visit(invalid, next);
    return next;
  }

  SplitRule rule_;
  std::unique_ptr<Regex::Matcher> matcher_;  // for the rules that are not written by hand
};

// The largest cut <= text.size() such that text[0, cut) is split alike whatever comes after it and
// text[cut, ...) is split as if nothing came before it; 0 if there is none. It holds for every
// rule: a piece that contains a letter or a number ends with one.
size_t last_safe_cut(std::string_view text);

// ' followed by s, t, re, ve, m, ll or d; `begin` points at the apostrophe.
inline const char* contraction_end(const char* begin, const char* end) {
  if (end - begin < 2) return begin;
  const char first = begin[1];
  if (first == 's' || first == 't' || first == 'm' || first == 'd') return begin + 2;
  if (end - begin < 3) return begin;
  const char second = begin[2];
  const bool two =
      (second == 'e' && (first == 'r' || first == 'v')) || (second == 'l' && first == 'l');
  return two ? begin + 3 : begin;
}

// `\s+(?!\S)|\s+`: white space up to the end of the text or, if other text follows, up to the last
// white-space character, which is left for the next piece unless it is alone.
const char* white_space_end(const char* begin, const char* end);

inline const char* gpt2_piece_end(const char* begin, const char* end) {
  const char* start = begin;
  if (*begin == '\'') {
    if (const char* const contraction = contraction_end(begin, end); contraction > begin) {
      return contraction;
    }
  } else if (*begin == ' ' && begin + 1 < end) {
    start = begin + 1;  // ` ?` in front of letters, numbers or others
  }
  const ClassifiedChar first = classify(start, end);
  if (first.value == CharClass::kSpace) return white_space_end(begin, end);
  if (first.value == CharClass::kInvalid && start > begin) return start;
  return skip_class(start + first.length, end, first.value);
}

}  // namespace tapir::app
