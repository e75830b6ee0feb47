#include "apps/interchange/export_tokenizer.h"

#include "apps/tokenizer/bpe_files.h"
#include "apps/tokenizer/strict_json.h"
#include "backends/error.h"

namespace tapir::app {

std::shared_ptr<const Tokenizer> exportable_tokenizer(std::shared_ptr<const Tokenizer> tokenizer,
                                                      int64_t documents) {
  require(tokenizer->kind() != "char", "export",
          "the tokenizer is char, which other programs do not read; train with --tokenizer byte or "
          "bpe:N");
  const std::optional<int32_t> start = tokenizer->end_of_text();
  if (documents < 2 || !start || tokenizer->begin_of_text()) return tokenizer;
  if (tokenizer->kind() == "byte") return make_byte_tokenizer(/*begins_with_end_of_text=*/true);
  BpeModel model = as_bpe(*tokenizer);
  model.begin_of_text = start;
  return make_bpe_tokenizer(std::move(model));
}

BpeModel as_bpe(const Tokenizer& tokenizer) {
  if (tokenizer.kind() == "bpe") {
    return bpe_from_json(parse_strict_json(tokenizer_to_json(tokenizer), "tokenizer"));
  }
  BpeModel model;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) {
    model.tokens.push_back(tokenizer.token_bytes(id));
  }
  model.added = tokenizer.added_tokens();
  model.begin_of_text = tokenizer.begin_of_text();
  return model;
}

}  // namespace tapir::app
