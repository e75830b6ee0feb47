// Encodes text of any size.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "apps/tokenizer/text_blocks.h"
#include "apps/tokenizer/tokenizer.h"

namespace tapir::app {

// Takes text in portions, encodes it on all threads in bounded memory and hands the ids on in
// order. The ids are those of Tokenizer::encode for each document (but for pieces of more than
// 64 MiB), whatever the portions and the number of threads.
class StreamEncoder {
 public:
  using Sink = std::function<void(std::span<const int32_t>)>;

  // `tokenizer` must outlive this.
  StreamEncoder(const Tokenizer& tokenizer, SpecialText special, Sink sink);
  StreamEncoder(const StreamEncoder&) = delete;
  StreamEncoder& operator=(const StreamEncoder&) = delete;

  void add_text(std::string_view text) { blocks_.add_text(text); }

  // Puts the end-of-text token, if the tokenizer has one, behind the text so far.
  void end_document() { blocks_.end_document(); }

  // To be called last.
  void finish() { blocks_.finish(); }

 private:
  void encode_blocks(const std::vector<TextBlocks::Block>& blocks);

  const Tokenizer& tokenizer_;
  SpecialText special_;
  Sink sink_;
  TextBlocks blocks_;
};

}  // namespace tapir::app
