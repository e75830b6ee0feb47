#include "apps/tokenizer/char_class.h"

#include <algorithm>

#include "apps/tokenizer/regex.h"

namespace tapir::app {

const UnicodeClasses& UnicodeClasses::get() {
  static const UnicodeClasses classes;
  return classes;
}

UnicodeClasses::UnicodeClasses() : classes_(kTableSize, CharClass::kOther) {
  std::string all;
  all.reserve(4 * size_t{kTableSize});
  for (uint32_t value = 0; value < kTableSize; ++value) {
    if (value < 0xD800 || value >= 0xE000) append_utf8(all, value);
  }
  fill(R"(\p{L})", CharClass::kLetter, all);
  fill(R"(\p{N})", CharClass::kNumber, all);
  fill(kSpaceSet, CharClass::kSpace, all);
}

void UnicodeClasses::fill(const char* set, CharClass value, const std::string& code_points) {
  const Regex regex(std::string("[") + set + "]+");
  Regex::Matcher matcher(regex);
  const char* const end = code_points.data() + code_points.size();
  size_t from = 0;
  while (true) {
    const Regex::Match run = matcher.find(code_points, from);
    if (!run.found) return;
    for (from = run.begin; from < run.end;) {
      const CodePoint decoded = decode_utf8(code_points.data() + from, end);
      classes_[decoded.value] = value;
      from += decoded.length;
    }
  }
}

}  // namespace tapir::app
