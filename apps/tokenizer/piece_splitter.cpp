#include "apps/tokenizer/piece_splitter.h"

namespace tapir::app {
namespace {

const Regex& rule_regex(SplitRule rule) {
  static const Regex llama3(pcre2_pattern(SplitRule::kLlama3));
  static const Regex cl100k(pcre2_pattern(SplitRule::kCl100k));
  return rule == SplitRule::kLlama3 ? llama3 : cl100k;
}

bool is_letter_or_number(CharClass value) {
  return value == CharClass::kLetter || value == CharClass::kNumber;
}

// The start of the character that ends just before `at`; bytes of no character count alone.
const char* previous_char(const char* begin, const char* at) {
  for (std::ptrdiff_t length = 1; length <= 4 && length <= at - begin; ++length) {
    if (decode_utf8(at - length, at).length == static_cast<uint32_t>(length)) return at - length;
  }
  return at - 1;
}

}  // namespace

PieceSplitter::PieceSplitter(SplitRule rule) : rule_(rule) {
  if (rule != SplitRule::kGpt2) matcher_ = std::make_unique<Regex::Matcher>(rule_regex(rule));
}

size_t last_safe_cut(std::string_view text) {
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* next = end;  // the character after `at`, whose class must be known for certain
  CharClass next_class = CharClass::kInvalid;
  while (next > begin) {
    const char* const at = previous_char(begin, next);
    const CharClass at_class = classify(at, next).value;
    // A character cut short at the end of the text reads as invalid, which is no safe neighbour.
    const bool known = next < end && next_class != CharClass::kInvalid;
    if (known && is_letter_or_number(at_class) && next_class != at_class) {
      return static_cast<size_t>(next - begin);
    }
    next = at;
    next_class = at_class;
  }
  return 0;
}

const char* white_space_end(const char* begin, const char* end) {
  const char* last = begin;
  const char* at = begin;
  while (at < end) {
    const ClassifiedChar next = classify(at, end);
    if (next.value != CharClass::kSpace) {
      return next.value == CharClass::kInvalid || last == begin ? at : last;
    }
    last = at;
    at += next.length;
  }
  return end;
}

}  // namespace tapir::app
