// The published rules by which byte-level BPE cuts text into pieces before it merges bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tapir::app {

enum class SplitRule {
  kGpt2,    // Radford et al. 2019, "Language Models are Unsupervised Multitask Learners"
  kLlama3,  // Dubey et al. 2024, "The Llama 3 Herd of Models"
  kCl100k,  // GPT-4's: as Llama 3's but for white space at the end of the text
};

// "gpt2", "llama3", "cl100k".
std::string_view split_rule_name(SplitRule rule);

// An unknown name is an Error that lists the known ones.
SplitRule split_rule_from_name(std::string_view name);

// The pattern as tokenizer.json spells it.
std::string_view published_pattern(SplitRule rule);

// The rule that `pattern`, in any of its published spellings, stands for.
std::optional<SplitRule> split_rule_from_pattern(std::string_view pattern);

// The same pattern for PCRE2, with White_Space written out.
std::string pcre2_pattern(SplitRule rule);

}  // namespace tapir::app
