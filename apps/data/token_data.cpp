#include "apps/data/token_data.h"

#include <algorithm>

#include "apps/cli/quantity.h"
#include "apps/data/mapped_tokens.h"
#include "apps/data/token_buffer.h"
#include "apps/machine.h"
#include "apps/tokenizer/stream_encoder.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr std::string_view kOp = "data";

std::vector<std::string> find_token_files(const InputFiles& files) {
  std::vector<std::string> found;
  const InputFile* other = nullptr;
  for (const InputFile& file : files.files) {
    if (!file.is_standard_input() && is_token_file(file.path)) {
      found.push_back(file.path.string());
    } else {
      other = &file;
    }
  }
  if (found.empty() || other == nullptr) return found;
  fail(kOp, "{} holds tokens, but {} does not; give either token files or text", found[0],
       other->shown());
}

// Gathers the ids of a text and where its documents begin.
class DocumentBuffer {
 public:
  explicit DocumentBuffer(const Tokenizer& tokenizer)
      : separator_(tokenizer.end_of_text()),
        tokens_(std::make_shared<TokenBuffer>(tokenizer.vocab_size())) {
    if (separator_) add({{*separator_}});
    begin_document();
  }

  void add(std::span<const int32_t> ids) {
    if (separator_) {
      for (size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] == *separator_) begin_document(tokens_->size() + static_cast<int64_t>(i));
      }
    }
    tokens_->append(ids);
    constexpr int64_t kBetweenChecks = int64_t{16} << 20;  // ids
    if (tokens_->size() < next_check_) return;
    next_check_ += kBetweenChecks;
    require_room_for_tokens(kBetweenChecks * tokens_->bytes_per_id_in_memory(), memory_available());
  }

  // Without an end-of-text token, only the end of the input tells documents apart.
  void end_document() {
    if (!separator_) begin_document(tokens_->size());
  }

  TokenData take() {
    TokenData data;
    // The separator behind the last document begins no other.
    const int64_t end = tokens_->size() - (separator_ ? 1 : 0);
    data.tokens.append(tokens_, 0, end);
    while (!starts_.empty() && starts_.back() >= end) starts_.pop_back();
    data.document_starts = std::move(starts_);
    return data;
  }

 private:
  void begin_document(int64_t position = 0) {
    // An empty document is none.
    const int64_t after_separator = separator_ ? 1 : 0;
    if (!starts_.empty() && starts_.back() + after_separator >= position) return;
    starts_.push_back(position);
  }

  std::optional<int32_t> separator_;
  std::shared_ptr<TokenBuffer> tokens_;
  std::vector<int64_t> starts_;
  int64_t next_check_ = 0;
};

}  // namespace

DataFiles::DataFiles(const std::vector<std::string>& paths, const std::string& jsonl_field)
    : files_(find_input_files(paths)),
      token_files_(find_token_files(files_)),
      text_(files_, {.jsonl_field = jsonl_field}) {}

TokenData DataFiles::load(const Tokenizer& tokenizer) {
  return hold_tokens() ? map_token_files(tokenizer) : encode_text(tokenizer);
}

TokenData DataFiles::encode_text(const Tokenizer& tokenizer) {
  DocumentBuffer documents(tokenizer);
  StreamEncoder encoder(tokenizer, SpecialText::kParse,
                        [&](std::span<const int32_t> ids) { documents.add(ids); });
  const bool separated = tokenizer.end_of_text().has_value();
  const TextInputSize size = text_.read([&](std::string_view text) { encoder.add_text(text); },
                                        [&] {
                                          encoder.end_document();
                                          if (separated) return;
                                          encoder.finish();
                                          documents.end_document();
                                        });
  encoder.finish();
  TokenData data = documents.take();
  data.bytes = size.bytes;
  data.notes = text_.notes();
  return data;
}

TokenData DataFiles::map_token_files(const Tokenizer& tokenizer) const {
  TokenData data;
  data.from_token_files = true;
  data.notes = files_.notes;
  for (const std::string& path : token_files_) {
    auto tokens = std::make_shared<MappedTokens>(path);
    tokens->file().require_tokenizer(tokenizer);
    data.tokens.append(TokenSequence(std::move(tokens)));
  }
  require(data.tokens.size() > 0, kOp, "the token files hold no tokens");
  return data;
}

void require_room_for_tokens(int64_t bytes, int64_t available) {
  require(bytes <= available, kOp,
          "the text has more tokens than fit into memory, of which {} are left; write them into a "
          "file with `tapir tokenizer encode TOKENIZER --data ... --out FILE` and train with "
          "--data FILE --tokenizer TOKENIZER",
          format_bytes(static_cast<double>(available)));
}

}  // namespace tapir::app
