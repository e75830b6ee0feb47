#include "apps/tokenizer/text_blocks.h"

#include <algorithm>
#include <utility>

namespace tapir::app {

TextBlocks::TextBlocks(SafeCut safe_cut, Consumer consumer, Limits limits)
    : safe_cut_(std::move(safe_cut)),
      consumer_(std::move(consumer)),
      limits_(limits),
      buffer_limit_(limits.gathered) {}

void TextBlocks::add_text(std::string_view text) {
  while (!text.empty()) {
    const std::string_view portion = text.substr(0, buffer_limit_ - buffer_.size());
    buffer_ += portion;
    text.remove_prefix(portion.size());
    if (buffer_.size() < buffer_limit_) return;
    hand_out(false);
    // A long rest has no place to cut yet: wait for twice as much before the next look.
    buffer_limit_ = std::max(limits_.gathered, 2 * buffer_.size());
  }
}

void TextBlocks::end_document() {
  constexpr size_t kMaxPending = 1 << 20;
  document_ends_.push_back(buffer_.size());
  if (document_ends_.size() >= kMaxPending) hand_out(false);
}

void TextBlocks::hand_out(bool all) {
  const std::string_view text = buffer_;
  std::vector<Block> blocks;
  size_t done = 0;
  for (const size_t end : document_ends_) {
    cut(text.substr(done, end - done), true, blocks);
    if (end == done || blocks.empty()) blocks.push_back({});
    blocks.back().ends_document = true;
    done = end;
  }
  const size_t rest = cut(text.substr(done), all, blocks);
  if (!blocks.empty()) consumer_(blocks);
  buffer_.erase(0, buffer_.size() - rest);
  document_ends_.clear();
}

size_t TextBlocks::cut(std::string_view text, bool complete, std::vector<Block>& blocks) const {
  size_t window = limits_.block;
  while (text.size() > window) {
    size_t end = safe_cut_(text.substr(0, window));
    if (end == 0 && window >= limits_.longest_piece) end = window;
    if (end == 0) {
      window *= 2;
      continue;
    }
    blocks.push_back({text.substr(0, end)});
    text.remove_prefix(end);
    window = limits_.block;
  }
  const size_t end = complete ? text.size() : safe_cut_(text);
  if (end > 0) blocks.push_back({text.substr(0, end)});
  return text.size() - end;
}

}  // namespace tapir::app
