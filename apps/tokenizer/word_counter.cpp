#include "apps/tokenizer/word_counter.h"

#include <algorithm>
#include <utility>

namespace tapir::app {
namespace {

constexpr size_t kFirstCapacity = size_t{1} << 14;

}  // namespace

void WordCounter::add_all(const WordCounter& other) {
  for (const Entry& entry : other.short_words_) {
    if (entry.count > 0) add_short(entry.key, entry.count);
  }
  for (const auto& [word, count] : other.long_words_) add_long(word, count);
}

void WordCounter::clear() {
  *this = WordCounter();
}

void WordCounter::drop_rarest(size_t target) {
  for (uint64_t rarest = 1; size() > target; ++rarest) {
    std::vector<Entry> old = std::exchange(short_words_, {});
    short_count_ = 0;
    for (const Entry& entry : old) {
      if (entry.count > rarest) add_short(entry.key, entry.count);
    }
    std::erase_if(long_words_, [rarest](const auto& word) { return word.second <= rarest; });
  }
}

void WordCounter::add_long(std::string_view word, uint64_t count) {
  const auto found = long_words_.find(word);
  if (found == long_words_.end()) {
    long_words_.emplace(word, count);
  } else {
    found->second += count;
  }
}

void WordCounter::grow() {
  std::vector<Entry> old(std::max(kFirstCapacity, 2 * short_words_.size()));
  old.swap(short_words_);
  for (const Entry& entry : old) {
    if (entry.count > 0) short_words_[slot(entry.key)] = entry;
  }
}

}  // namespace tapir::app
