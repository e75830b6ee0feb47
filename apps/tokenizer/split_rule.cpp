#include "apps/tokenizer/split_rule.h"

#include <array>

#include "apps/tokenizer/char_class.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

struct Spelling {
  std::string_view pattern;
  SplitRule rule;
};

// The first spelling of each rule is the one that is written to files.
constexpr std::array kSpellings = {
    Spelling{R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
             SplitRule::kGpt2},
    Spelling{R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
             SplitRule::kGpt2},
    Spelling{R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)",
             SplitRule::kGpt2},
    Spelling{R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
             R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
             SplitRule::kLlama3},
    Spelling{R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3})"
             R"(| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)",
             SplitRule::kLlama3},
    Spelling{R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+)"
             R"(| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)",
             SplitRule::kCl100k},
};

constexpr std::array kRules = {SplitRule::kGpt2, SplitRule::kLlama3, SplitRule::kCl100k};

}  // namespace

std::string_view split_rule_name(SplitRule rule) {
  switch (rule) {
    case SplitRule::kGpt2:
      return "gpt2";
    case SplitRule::kLlama3:
      return "llama3";
    case SplitRule::kCl100k:
      break;
  }
  return "cl100k";
}

SplitRule split_rule_from_name(std::string_view name) {
  for (const SplitRule rule : kRules) {
    if (split_rule_name(rule) == name) return rule;
  }
  fail("tokenizer", "unknown split rule {}; known are gpt2, llama3 and cl100k", name);
}

std::string_view published_pattern(SplitRule rule) {
  size_t i = 0;
  while (kSpellings[i].rule != rule) ++i;
  return kSpellings[i].pattern;
}

std::optional<SplitRule> split_rule_from_pattern(std::string_view pattern) {
  for (const Spelling& spelling : kSpellings) {
    if (spelling.pattern == pattern) return spelling.rule;
  }
  return std::nullopt;
}

std::string pcre2_pattern(SplitRule rule) {
  const std::string_view published = published_pattern(rule);
  std::string pattern;
  bool in_set = false;
  for (size_t i = 0; i < published.size(); ++i) {
    const std::string_view pair = published.substr(i, 2);
    if (pair == R"(\s)") {
      pattern += in_set ? kSpaceSet : std::string("[") + kSpaceSet + "]";
      ++i;
    } else if (pair == R"(\S)") {
      pattern += std::string("[^") + kSpaceSet + "]";
      ++i;
    } else if (pair[0] == '\\') {
      pattern += pair;
      ++i;
    } else {
      if (pair[0] == '[' || pair[0] == ']') in_set = pair[0] == '[';
      // Without the multi-line option PCRE2's $ also matches before a last newline; \z does not.
      pattern += pair[0] == '$' ? R"(\z)" : std::string(1, pair[0]);
    }
  }
  return pattern;
}

}  // namespace tapir::app
