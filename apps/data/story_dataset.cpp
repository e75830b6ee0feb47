#include "apps/data/story_dataset.h"

#include <algorithm>

#include "apps/corpus/corpus.h"
#include "apps/data/token_buffer.h"

namespace tapir::app {
namespace {

// End-of-text and the story.
void append_story(const Tokenizer& tokenizer, const std::string& text, TokenBuffer& tokens) {
  std::vector<int32_t> ids = {tokenizer.end_of_text().value()};
  tokenizer.encode_append(text, ids);
  tokens.append(ids);
}

// The window that reads a story from its beginning as far as the context reaches. It starts with
// the end-of-text in front of the story, and its last target may be the one behind it, which costs
// the generator nothing.
FloorWindow make_window(const Tokenizer& tokenizer, const std::string& text, int64_t begin,
                        std::span<const int32_t> ids, int64_t context) {
  FloorWindow window{.begin = begin};
  const auto in_story = static_cast<int64_t>(ids.size());
  window.tokens = std::min(context, in_story + 1);
  size_t bytes = 0;
  for (int64_t i = 0; i < std::min(window.tokens, in_story); ++i) {
    bytes += tokenizer.token_bytes(ids[static_cast<size_t>(i)]).size();
  }
  const std::vector<double> bits = information(text);
  for (size_t i = 0; i < bytes; ++i) window.bits += bits[i];
  return window;
}

}  // namespace

Dataset load_story_dataset(const RunConfig& run, std::shared_ptr<const Tokenizer> tokenizer) {
  const DataConfig& config = run.data;
  require(config.validation_paths.empty(), "data",
          "--val-data needs --data; the built-in corpus validates on stories of its own");
  const auto seed = static_cast<uint64_t>(config.corpus_seed);
  const Corpus stories = corpus(seed, static_cast<uint64_t>(config.corpus_bytes));
  if (!tokenizer) {
    tokenizer =
        make_tokenizer(config.tokenizer, [&](const auto& add_text, const auto& end_document) {
          for (const std::string& text : stories.documents) {
            add_text(text);
            end_document();
          }
        });
  }
  const auto separator = tokenizer->end_of_text();
  require(separator.has_value(), "data", "the tokenizer {} has no {}, which separates stories",
          config.tokenizer, kEndOfText);
  const int64_t vocab_size = tokenizer->vocab_size();
  Dataset data{.tokenizer = std::move(tokenizer),
               .train = {},
               .validation = {},
               .name = "built-in stories",
               .documents = static_cast<int64_t>(stories.documents.size()),
               .bytes = static_cast<int64_t>(stories.bytes)};
  const auto train_tokens = std::make_shared<TokenBuffer>(vocab_size);
  for (const std::string& text : stories.documents) {
    append_story(*data.tokenizer, text, *train_tokens);
  }
  data.train = TokenSequence(train_tokens);
  const int64_t windows = run.training.eval_batches * run.training.batch;
  const int64_t context = run.model.context;
  const auto validation_tokens = std::make_shared<TokenBuffer>(vocab_size);
  StoryStream validation(seed, kFirstValidationStory);
  for (int64_t i = 0; i < windows; ++i) {
    const std::string text = validation.next().text;
    const std::vector<int32_t> ids = data.tokenizer->encode(text);
    data.floor_windows.push_back(
        make_window(*data.tokenizer, text, validation_tokens->size(), ids, context));
    append_story(*data.tokenizer, text, *validation_tokens);
  }
  // The last window may reach beyond its story too.
  validation_tokens->append(std::vector<int32_t>(static_cast<size_t>(context) + 1, *separator));
  data.validation = TokenSequence(validation_tokens);
  return data;
}

}  // namespace tapir::app
