// Trains a byte-level BPE tokenizer on text of any size.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "apps/tokenizer/added_tokens.h"
#include "apps/tokenizer/split_rule.h"
#include "apps/tokenizer/text_blocks.h"
#include "apps/tokenizer/tokenizer.h"
#include "apps/tokenizer/word_counter.h"

namespace tapir::app {

struct BpeTrainerOptions {
  // The 256 bytes, the merges and the special tokens together. At least 256 + the special ones.
  int32_t vocab_size = 8192;
  // Get the last ids, in this order. In the training text they separate documents. Valid UTF-8,
  // not empty, no two alike, and none a single byte.
  std::vector<std::string> special_tokens = {kEndOfText};
  SplitRule rule = SplitRule::kGpt2;
  // A pair that occurs less often than this is never merged.
  int64_t min_pair_count = 2;
  // Above this many different pieces the rarest are forgotten, which bounds the memory.
  size_t max_words = 16'000'000;
};

// Takes the text in portions and counts its pieces in parallel. Memory grows with the number of
// different pieces, not with the text. The result does not depend on the portions nor on the
// number of threads.
class BpeTrainer {
 public:
  // Options that cannot be met are an Error.
  explicit BpeTrainer(BpeTrainerOptions options);
  BpeTrainer(const BpeTrainer&) = delete;
  BpeTrainer& operator=(const BpeTrainer&) = delete;

  // The next portion of the current document; it may be cut anywhere.
  void add_text(std::string_view text) { blocks_.add_text(text); }

  // No piece reaches across this point.
  void end_document() { blocks_.end_document(); }

  // Ids 0 .. 255 are the bytes, then come the merges, then the special tokens. The vocabulary is
  // smaller than asked where the text has too few pairs.
  std::unique_ptr<Tokenizer> train();

 private:
  void count_blocks(const std::vector<TextBlocks::Block>& blocks);
  void count_block(std::string_view text, WordCounter& words) const;
  void gather_worker_counts();

  BpeTrainerOptions options_;
  AddedTokenMatcher special_;
  TextBlocks blocks_;
  std::vector<WordCounter> worker_words_;
  size_t uncollected_bytes_ = 0;  // of text whose words are still in worker_words_
  WordCounter words_;
};

}  // namespace tapir::app
