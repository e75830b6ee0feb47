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

constexpr size_t kPartBytes = size_t{256} << 10;     // of the work that one thread takes at a time
constexpr size_t kLongestPiece = size_t{64} << 20;   // a longer one is cut, to bound the memory
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

// Cuts a long part where pieces end anyway, so that several threads can share it.
void cut_part(std::string_view part, std::vector<std::string_view>& cuts) {
  size_t wanted = kPartBytes;
  while (part.size() > wanted) {
    const size_t cut = last_safe_cut(part.substr(0, wanted));
    if (cut == 0) {
      wanted *= 2;
      continue;
    }
    cuts.push_back(part.substr(0, cut));
    part.remove_prefix(cut);
    wanted = kPartBytes;
  }
  if (!part.empty()) cuts.push_back(part);
}

}  // namespace

BpeTrainer::BpeTrainer(BpeTrainerOptions options)
    : options_(checked(std::move(options))),
      special_(added_tokens_from(options_.special_tokens, 0)),
      worker_words_(static_cast<size_t>(cpu::threads())) {}

void BpeTrainer::add_text(std::string_view text) {
  while (!text.empty()) {
    const std::string_view portion = text.substr(0, buffer_limit_ - buffer_.size());
    buffer_ += portion;
    text.remove_prefix(portion.size());
    if (buffer_.size() < buffer_limit_) return;
    count_buffer(false);
    // A long rest has no place to cut yet: wait for twice as much before the next look.
    buffer_limit_ = std::max(kBufferBytes, 2 * buffer_.size());
  }
}

void BpeTrainer::end_document() {
  document_ends_.push_back(buffer_.size());
}

void BpeTrainer::count_buffer(bool final) {
  const std::string_view text = buffer_;
  std::vector<std::string_view> parts;
  size_t done = 0;
  for (const size_t end : document_ends_) {
    split_at_special_tokens(text.substr(done, end - done), parts);
    done = end;
  }
  const std::string_view open = text.substr(done);
  size_t cut = open.size();
  if (!final) cut = special_.safe_cut(open, last_safe_cut);
  if (cut == 0 && open.size() >= kLongestPiece) cut = open.size();
  split_at_special_tokens(open.substr(0, cut), parts);
  count_parts(parts);
  buffer_.erase(0, done + cut);
  document_ends_.clear();
}

void BpeTrainer::split_at_special_tokens(std::string_view document,
                                         std::vector<std::string_view>& parts) const {
  size_t done = 0;
  while (done < document.size()) {
    const AddedTokenMatcher::Match match = special_.find(document, done);
    if (match.begin == match.end) break;
    cut_part(document.substr(done, match.begin - done), parts);
    done = match.end;
  }
  cut_part(document.substr(done), parts);
}

void BpeTrainer::count_parts(const std::vector<std::string_view>& parts) {
  std::mutex mutex;
  std::exception_ptr failure;
  constexpr int64_t kOperationsPerByte = 10;
  size_t bytes = 0;
  for (const std::string_view part : parts) bytes += part.size();
  const auto count = static_cast<int64_t>(parts.size());
  const auto cost = static_cast<int64_t>(bytes) * kOperationsPerByte / std::max<int64_t>(count, 1);
  cpu::parallel_for(count, cost, [&](int64_t index, int worker) {
    try {
      const std::string_view part = parts[static_cast<size_t>(index)];
      WordCounter& words = worker_words_[static_cast<size_t>(worker)];
      PieceSplitter splitter(options_.rule);
      splitter.for_each(part, [&](const char* begin, const char* end) {
        words.add(begin, end, part.data() + part.size());
      });
    } catch (...) {
      const std::lock_guard lock(mutex);
      failure = std::current_exception();
    }
  });
  if (failure) std::rethrow_exception(failure);
  uncollected_bytes_ += bytes;
  if (uncollected_bytes_ >= kCollectBytes) gather_worker_counts();
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
  count_buffer(true);
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
