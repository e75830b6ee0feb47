// Learns the merges of byte-pair encoding from counted words.
// Source: Sennrich, Haddow, Birch 2016, "Neural Machine Translation of Rare Words with Subword
// Units".
#pragma once

#include <cstdint>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "apps/tokenizer/bpe_model.h"
#include "apps/tokenizer/pair_slots.h"

namespace tapir::app {

// Again and again joins the pair of neighbours that occurs most often; of equals the one whose
// pair of byte strings is lexicographically greater. Pairs are counted once; after that a merge
// only touches the words it occurs in.
class MergeLearner {
 public:
  // Tokens 0 .. 255 are the bytes.
  MergeLearner();

  void add_word(std::string_view word, uint64_t count);

  // Learns until there are `token_count` tokens or no pair occurs at least `min_count` times. To be
  // called once.
  void learn(size_t token_count, int64_t min_count);

  // Byte strings by id, and the merges in the order they were learned. Where two merges give the
  // same bytes they share a token.
  const std::vector<std::string>& tokens() const { return tokens_; }
  const std::vector<Merge>& merges() const { return merges_; }

 private:
  // The symbols of a word lie in symbols_[begin, begin + length).
  struct Word {
    size_t begin = 0;
    size_t length = 0;
    int64_t count = 0;
  };

  struct Candidate {
    int64_t count = 0;
    uint32_t slot = 0;
  };

  // Orders candidates for the heap: true if `a` is merged after `b`.
  struct Later {
    const MergeLearner* learner;
    bool operator()(const Candidate& a, const Candidate& b) const;
  };
  using Heap = std::priority_queue<Candidate, std::vector<Candidate>, Later>;

  void count_pairs();
  void push(uint32_t slot, int64_t min_count, Heap& heap);
  int32_t product_of(const Pair& pair);
  void apply(uint32_t slot, int32_t product);
  void merge_in_word(uint32_t word, int32_t left, int32_t right, int32_t product);
  void add_pair(int32_t left, int32_t right, int64_t count, uint32_t word);

  std::vector<std::string> tokens_;
  std::unordered_map<std::string, int32_t> id_of_bytes_;
  std::vector<Merge> merges_;
  std::vector<int32_t> symbols_;
  std::vector<Word> words_;
  PairSlots pairs_;
  std::vector<uint32_t> increased_;  // slots of pairs that the current merge made more frequent
};

}  // namespace tapir::app
