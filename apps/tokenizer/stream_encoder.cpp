#include "apps/tokenizer/stream_encoder.h"

#include <exception>
#include <mutex>
#include <utility>

#include "backends/cpu/parallel.h"

namespace tapir::app {

StreamEncoder::StreamEncoder(const Tokenizer& tokenizer, SpecialText special, Sink sink)
    : tokenizer_(tokenizer),
      special_(special),
      sink_(std::move(sink)),
      blocks_([this](std::string_view text) { return tokenizer_.safe_cut(text, special_); },
              [this](const std::vector<TextBlocks::Block>& blocks) { encode_blocks(blocks); }) {}

void StreamEncoder::encode_blocks(const std::vector<TextBlocks::Block>& blocks) {
  constexpr int64_t kOperationsPerByte = 10;
  size_t bytes = 0;
  for (const TextBlocks::Block& block : blocks) bytes += block.text.size();
  const auto count = static_cast<int64_t>(blocks.size());
  const std::optional<int32_t> end_of_text = tokenizer_.end_of_text();
  std::vector<std::vector<int32_t>> ids(blocks.size());
  std::mutex mutex;
  std::exception_ptr failure;
  cpu::parallel_for(count, static_cast<int64_t>(bytes) * kOperationsPerByte / count,
                    [&](int64_t index) {
                      const auto i = static_cast<size_t>(index);
                      try {
                        tokenizer_.encode_append(blocks[i].text, ids[i], special_);
                        if (blocks[i].ends_document && end_of_text) ids[i].push_back(*end_of_text);
                      } catch (...) {
                        const std::lock_guard lock(mutex);
                        failure = std::current_exception();
                      }
                    });
  if (failure) std::rethrow_exception(failure);
  for (const std::vector<int32_t>& part : ids) {
    if (!part.empty()) sink_(part);
  }
}

}  // namespace tapir::app
