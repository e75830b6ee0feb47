#include "apps/corpus/chooser.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "backends/error.h"
#include "backends/philox.h"

namespace tapir::app::grammar {
namespace {

uint32_t total_weight(std::span<const Option> options) {
  uint32_t total = 0;
  for (const Option& option : options) total += option.weight;
  return total;
}

std::string printable(char c) {
  const auto byte = static_cast<unsigned char>(c);
  if (byte == '\n') return "a newline";
  if (byte < 32 || byte > 126) return fmt::format("byte 0x{:02x}", byte);
  return fmt::format("'{}'", c);
}

[[noreturn]] void fail_at(std::string_view text, size_t position, std::string_view due) {
  const std::string found =
      position < text.size() ? printable(text[position]) : std::string("the end of the text");
  fail("corpus", "not a story of the built-in grammar: at byte {} there is {} where {} was due",
       position, found, due);
}

}  // namespace

double Decision::bits() const {
  return std::log2(static_cast<double>(total)) - std::log2(static_cast<double>(weight));
}

uint32_t Writer::random_word() {
  if (words_left_ == 0) {
    const PhiloxBlock block = philox(seed_, counter_++, index_);
    for (int i = 0; i < 4; ++i) words_[i] = block.word[i];
    words_left_ = 4;
  }
  return words_[4 - words_left_--];
}

// Exactly uniform on [0, bound): multiply and reject. Source: Lemire, "Fast random integer
// generation in an interval", ACM TOMACS 2019.
uint32_t Writer::random_below(uint32_t bound) {
  uint64_t product = static_cast<uint64_t>(random_word()) * bound;
  const uint32_t threshold = -bound % bound;
  while (static_cast<uint32_t>(product) < threshold) {
    product = static_cast<uint64_t>(random_word()) * bound;
  }
  return static_cast<uint32_t>(product >> 32);
}

size_t Writer::choose(std::span<const Option> options, std::string_view category) {
  const uint32_t total = total_weight(options);
  size_t chosen = 0;
  if (options.size() > 1) {
    uint32_t draw = random_below(total);
    while (draw >= options[chosen].weight) draw -= options[chosen++].weight;
  }
  const Decision decision{text_.size(), static_cast<uint32_t>(chosen), options[chosen].weight,
                          total, category};
  bits_ += decision.bits();
  if (decisions_) decisions_->push_back(decision);
  return chosen;
}

void Reader::write(std::string_view due) {
  for (size_t i = 0; i < due.size(); ++i, ++position_) {
    if (position_ >= text_.size() || text_[position_] != due[i]) {
      fail_at(text_, position_, printable(due[i]));
    }
  }
}

// Walks down the trie of the options. At each byte the options that do not continue with it drop
// out, and the byte's information is the logarithm of the weight that was lost with them.
size_t Reader::choose(std::span<const Option> options, std::string_view category) {
  alive_.clear();
  for (uint32_t i = 0; i < options.size(); ++i) alive_.push_back(i);
  const uint32_t total = total_weight(options);
  uint32_t before = total;
  for (size_t k = 0; alive_.size() > 1; ++k) {
    const size_t at = position_ + k;
    const bool more = at < text_.size();
    uint32_t after = 0;
    size_t kept = 0;
    for (const uint32_t i : alive_) {
      if (k >= options[i].size()) throw std::logic_error("corpus grammar: ambiguous choice");
      if (!more || options[i][k] != text_[at]) continue;
      alive_[kept++] = i;
      after += options[i].weight;
    }
    if (kept == 0) fail_at(text_, at, fmt::format("one of {} continuations", alive_.size()));
    alive_.resize(kept);
    if (information_ && after != before) {
      (*information_)[at] += std::log2(static_cast<double>(before) / static_cast<double>(after));
    }
    before = after;
  }
  const uint32_t chosen = alive_.front();
  const Decision decision{position_, chosen, options[chosen].weight, total, category};
  bits_ += decision.bits();
  if (decisions_) decisions_->push_back(decision);
  return chosen;
}

void Reader::finish() const {
  if (position_ < text_.size()) fail_at(text_, position_, "the end of the story");
}

}  // namespace tapir::app::grammar
