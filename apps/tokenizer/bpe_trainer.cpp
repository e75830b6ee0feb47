#include "apps/tokenizer/bpe_trainer.h"

#include <algorithm>
#include <exception>
#include <mutex>
#include <set>
#include <utility>

#include "apps/tokenizer/bpe_model.h"
#include "apps/tokenizer/merge_learner.h"
#include "apps/tokenizer/piece_splitter.h"
#include "apps/tokenizer/utf8.h"
#include "backends/cpu/parallel.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr size_t kCollectBytes = size_t{128} << 20;  // of text between two looks at the memory

BpeTrainerOptions checked(BpeTrainerOptions options) {
  std::set<std::string> seen;
  for (const std::string& token : options.special_tokens) {
    require(is_valid_utf8(token), "tokenizer", "a special token is not valid UTF-8");
    require(token.size() >= 2, "tokenizer", "special token \"{}\" is shorter than two bytes",
            token);
    require(seen.insert(token).second, "tokenizer", "special token {} is listed twice", token);
  }
  const auto smallest = 256 + static_cast<int64_t>(options.special_tokens.size());
  require(
      options.vocab_size >= smallest && options.vocab_size <= 1 << 24, "tokenizer",
      "a vocabulary of {} is impossible; it holds 256 bytes and {} special tokens, so use {} to {}",
      options.vocab_size, options.special_tokens.size(), smallest, 1 << 24);
  require(options.min_pair_count >= 1, "tokenizer", "min_pair_count is {}; use 1 or more",
          options.min_pair_count);
  return options;
}

std::vector<AddedToken> added_tokens_from(const std::vector<std::string>& texts, int32_t first_id) {
  std::vector<AddedToken> added;
  for (const std::string& text : texts) {
    added.push_back({first_id + static_cast<int32_t>(added.size()), text});
  }
  return added;
}

}  // namespace

BpeTrainer::BpeTrainer(BpeTrainerOptions options)
    : options_(checked(std::move(options))),
      special_(added_tokens_from(options_.special_tokens, 0)),
      blocks_([this](std::string_view text) { return special_.safe_cut(text, last_safe_cut); },
              [this](const std::vector<TextBlocks::Block>& blocks) { count_blocks(blocks); }),
      worker_words_(static_cast<size_t>(cpu::threads())) {}

void BpeTrainer::count_blocks(const std::vector<TextBlocks::Block>& blocks) {
  constexpr int64_t kOperationsPerByte = 10;
  size_t bytes = 0;
  for (const TextBlocks::Block& block : blocks) bytes += block.text.size();
  const auto count = static_cast<int64_t>(blocks.size());
  std::mutex mutex;
  std::exception_ptr failure;
  cpu::parallel_for(count, static_cast<int64_t>(bytes) * kOperationsPerByte / count,
                    [&](int64_t index, int worker) {
                      try {
                        count_block(blocks[static_cast<size_t>(index)].text,
                                    worker_words_[static_cast<size_t>(worker)]);
                      } catch (...) {
                        const std::lock_guard lock(mutex);
                        failure = std::current_exception();
                      }
                    });
  if (failure) std::rethrow_exception(failure);
  uncollected_bytes_ += bytes;
  if (uncollected_bytes_ >= kCollectBytes) gather_worker_counts();
}

void BpeTrainer::count_block(std::string_view text, WordCounter& words) const {
  PieceSplitter splitter(options_.rule);
  const auto count = [&](std::string_view part) {
    splitter.for_each(part, [&](const char* begin, const char* end) {
      words.add(begin, end, text.data() + text.size());
    });
  };
  size_t done = 0;
  while (done < text.size()) {
    const AddedTokenMatcher::Match special = special_.find(text, done);
    if (special.begin == special.end) break;
    count(text.substr(done, special.begin - done));
    done = special.end;
  }
  count(text.substr(done));
}

void BpeTrainer::gather_worker_counts() {
  for (WordCounter& words : worker_words_) {
    words_.add_all(words);
    words.clear();
  }
  uncollected_bytes_ = 0;
  if (words_.size() > options_.max_words) words_.drop_rarest(options_.max_words / 2);
}

std::unique_ptr<Tokenizer> BpeTrainer::train() {
  blocks_.finish();
  gather_worker_counts();
  MergeLearner learner;
  words_.for_each([&](std::string_view word, uint64_t count) { learner.add_word(word, count); });
  words_.clear();
  const size_t special_count = options_.special_tokens.size();
  learner.learn(static_cast<size_t>(options_.vocab_size) - special_count, options_.min_pair_count);
  BpeModel model;
  model.tokens = learner.tokens();
  model.merges = learner.merges();
  model.rule = options_.rule;
  model.added =
      added_tokens_from(options_.special_tokens, static_cast<int32_t>(model.tokens.size()));
  for (const AddedToken& token : model.added) model.tokens.push_back(token.text);
  return make_bpe_tokenizer(std::move(model));
}

}  // namespace tapir::app
