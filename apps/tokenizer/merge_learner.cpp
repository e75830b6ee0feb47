#include "apps/tokenizer/merge_learner.h"

#include <tuple>
#include <utility>

namespace tapir::app {

MergeLearner::MergeLearner() {
  for (int byte = 0; byte < 256; ++byte) {
    tokens_.emplace_back(1, static_cast<char>(byte));
    id_of_bytes_.emplace(tokens_.back(), byte);
  }
}

void MergeLearner::add_word(std::string_view word, uint64_t count) {
  if (word.size() < 2) return;  // nothing to merge
  words_.push_back({symbols_.size(), word.size(), static_cast<int64_t>(count)});
  for (const char byte : word) symbols_.push_back(static_cast<uint8_t>(byte));
}

void MergeLearner::learn(size_t token_count, int64_t min_count) {
  count_pairs();
  Heap heap(Later{this});
  for (uint32_t slot = 0; slot < pairs_.size(); ++slot) push(slot, min_count, heap);
  increased_.clear();
  while (tokens_.size() < token_count && !heap.empty()) {
    const Candidate best = heap.top();
    heap.pop();
    const int64_t count = pairs_[best.slot].count;
    if (best.count != count) {
      // Counts of pairs in the heap fall as other merges take their symbols away.
      if (best.count > count && count >= min_count) heap.push({count, best.slot});
      continue;
    }
    const int32_t product = product_of(pairs_[best.slot]);
    if (!std::exchange(pairs_[best.slot].learned, true)) {
      merges_.push_back({pairs_[best.slot].left, pairs_[best.slot].right, product});
    }
    apply(best.slot, product);
    for (const uint32_t slot : increased_) push(slot, min_count, heap);
    increased_.clear();
  }
}

bool MergeLearner::Later::operator()(const Candidate& a, const Candidate& b) const {
  if (a.count != b.count) return a.count < b.count;
  const auto bytes = [this](const Candidate& candidate) {
    const Pair& pair = learner->pairs_[candidate.slot];
    return std::tie(learner->tokens_[static_cast<size_t>(pair.left)],
                    learner->tokens_[static_cast<size_t>(pair.right)]);
  };
  return bytes(a) < bytes(b);
}

void MergeLearner::count_pairs() {
  for (uint32_t w = 0; w < words_.size(); ++w) {
    const Word& word = words_[w];
    const int32_t* const symbols = symbols_.data() + word.begin;
    for (size_t i = 0; i + 1 < word.length; ++i)
      add_pair(symbols[i], symbols[i + 1], word.count, w);
  }
}

void MergeLearner::push(uint32_t slot, int64_t min_count, Heap& heap) {
  pairs_[slot].increased = false;
  if (pairs_[slot].count >= min_count) heap.push({pairs_[slot].count, slot});
}

int32_t MergeLearner::product_of(const Pair& pair) {
  std::string bytes =
      tokens_[static_cast<size_t>(pair.left)] + tokens_[static_cast<size_t>(pair.right)];
  const auto [place, added] = id_of_bytes_.emplace(bytes, static_cast<int32_t>(tokens_.size()));
  if (added) tokens_.push_back(std::move(bytes));
  return place->second;
}

void MergeLearner::apply(uint32_t slot, int32_t product) {
  const int32_t left = pairs_[slot].left;
  const int32_t right = pairs_[slot].right;
  const std::vector<uint32_t> words = std::exchange(pairs_[slot].words, {});
  for (const uint32_t word : words) merge_in_word(word, left, right, product);
  pairs_[slot].count = 0;
}

void MergeLearner::merge_in_word(uint32_t word, int32_t left, int32_t right, int32_t product) {
  int32_t* const symbols = symbols_.data() + words_[word].begin;
  const size_t length = words_[word].length;
  const int64_t count = words_[word].count;
  size_t kept = 0;  // symbols[0, kept) are final
  for (size_t i = 0; i < length; ++i) {
    if (symbols[i] != left || i + 1 == length || symbols[i + 1] != right) {
      symbols[kept++] = symbols[i];
      continue;
    }
    if (kept > 0) {
      pairs_[pairs_.slot(symbols[kept - 1], left)].count -= count;
      add_pair(symbols[kept - 1], product, count, word);
    }
    if (i + 2 < length) {
      pairs_[pairs_.slot(right, symbols[i + 2])].count -= count;
      add_pair(product, symbols[i + 2], count, word);
    }
    symbols[kept++] = product;
    ++i;
  }
  words_[word].length = kept;
}

void MergeLearner::add_pair(int32_t left, int32_t right, int64_t count, uint32_t word) {
  const uint32_t slot = pairs_.slot(left, right);
  Pair& pair = pairs_[slot];
  pair.count += count;
  if (pair.words.empty() || pair.words.back() != word) pair.words.push_back(word);
  if (!std::exchange(pair.increased, true)) increased_.push_back(slot);
}

}  // namespace tapir::app
