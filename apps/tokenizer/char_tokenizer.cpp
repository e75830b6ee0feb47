#include "apps/tokenizer/char_tokenizer.h"

#include <algorithm>
#include <utility>

#include "apps/tokenizer/json_parts.h"
#include "apps/tokenizer/utf8.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr int32_t kByteCount = 256;
constexpr uint32_t kFirstNonAscii = 0x80;

// How the vocabulary spells byte `byte`: an ASCII character as itself.
std::string byte_token_text(int32_t byte) {
  if (byte < static_cast<int32_t>(kFirstNonAscii)) return std::string(1, static_cast<char>(byte));
  return fmt::format("<0x{:02X}>", byte);
}

// How many bytes at the end of `text` could still become a character: 0 to 3.
size_t incomplete_tail(std::string_view text) {
  for (size_t length = 1; length <= 3 && length <= text.size(); ++length) {
    const auto lead = static_cast<uint8_t>(text[text.size() - length]);
    if (lead < 0x80) return 0;
    if (lead < 0xC0) continue;
    const size_t expected = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    return length < expected ? length : 0;
  }
  return 0;
}

class CharTokenizer final : public Tokenizer {
 public:
  explicit CharTokenizer(std::vector<uint32_t> characters)
      : Tokenizer({{kByteCount + static_cast<int32_t>(characters.size()), kEndOfText}}),
        characters_(std::move(characters)) {}

  std::string kind() const override { return "char"; }
  int32_t vocab_size() const override {
    return kByteCount + static_cast<int32_t>(characters_.size()) + 1;
  }

  std::string token_bytes(int32_t id) const override {
    require(id >= 0 && id < vocab_size(), "tokenizer", "token id {} is outside 0 .. {}", id,
            vocab_size() - 1);
    if (id < kByteCount) return std::string(1, static_cast<char>(id));
    if (id == vocab_size() - 1) return kEndOfText;
    std::string bytes;
    append_utf8(bytes, characters_[static_cast<size_t>(id - kByteCount)]);
    return bytes;
  }

 private:
  void encode_plain(std::string_view text, std::vector<int32_t>& ids) const override {
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); at < end;) {
      const CodePoint decoded = decode_utf8(at, end);
      const auto found = std::lower_bound(characters_.begin(), characters_.end(), decoded.value);
      if (decoded.length > 1 && found != characters_.end() && *found == decoded.value) {
        ids.push_back(kByteCount + static_cast<int32_t>(found - characters_.begin()));
        at += decoded.length;
      } else {
        ids.push_back(static_cast<uint8_t>(*at++));
      }
    }
  }

  size_t plain_cut(std::string_view text) const override {
    return text.size() - incomplete_tail(text);
  }

  std::string to_json() const override {
    std::vector<std::string> texts;
    for (int32_t id = 0; id < vocab_size(); ++id) {
      texts.push_back(id < kByteCount ? byte_token_text(id) : token_bytes(id));
    }
    return fmt::format(
        R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},)"
        R"("normalizer":null,"pre_tokenizer":null,"post_processor":null,"decoder":)"
        R"({{"type":"Sequence","decoders":[{{"type":"ByteFallback"}},{{"type":"Fuse"}}]}},)"
        R"("model":{{"type":"BPE","dropout":null,"unk_token":null,)"
        R"("continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,)"
        R"("byte_fallback":true,"ignore_merges":false,"vocab":{},"merges":[]}}}})"
        "\n",
        added_tokens_json(added_tokens()), vocab_json(texts));
  }

  std::string rules() const override { return "char"; }

  std::vector<uint32_t> characters_;  // ascending
};

}  // namespace

void CharTrainer::add_text(std::string_view text) {
  pending_ += text;
  const size_t complete = pending_.size() - incomplete_tail(pending_);
  const char* const end = pending_.data() + complete;
  for (const char* at = pending_.data(); at < end;) {
    const CodePoint decoded = decode_utf8(at, end);
    if (decoded.length > 1) seen_.insert(decoded.value);
    at += std::max(decoded.length, 1u);
  }
  pending_.erase(0, complete);
}

std::unique_ptr<Tokenizer> CharTrainer::train() const {
  return make_char_tokenizer({seen_.begin(), seen_.end()});
}

std::unique_ptr<Tokenizer> make_char_tokenizer(std::vector<uint32_t> characters) {
  const auto valid = [](uint32_t value) {
    return value >= kFirstNonAscii && value < kCodePointCount && (value < 0xD800 || value > 0xDFFF);
  };
  for (size_t i = 0; i < characters.size(); ++i) {
    require(valid(characters[i]) && (i == 0 || characters[i - 1] < characters[i]), "tokenizer",
            "character {} (U+{:04X}) is not a code point above the one before", i, characters[i]);
  }
  return std::make_unique<CharTokenizer>(std::move(characters));
}

bool is_char_tokenizer_json(const JsonValue& root) {
  const JsonValue& model = root["model"];
  return root["pre_tokenizer"].is_null() && model["merges"].is_array() &&
         model["merges"].array("model.merges").empty() &&
         model["byte_fallback"].boolean_or(false, "model.byte_fallback");
}

std::unique_ptr<Tokenizer> char_tokenizer_from_json(const JsonValue& root) {
  std::vector<uint32_t> characters;
  for (const JsonValue::Member& member : root["model"]["vocab"].object("model.vocab")) {
    const std::string& text = member.key;
    const CodePoint decoded =
        text.empty() ? CodePoint() : decode_utf8(text.data(), text.data() + text.size());
    if (decoded.length > 1 && decoded.length == text.size()) characters.push_back(decoded.value);
  }
  std::sort(characters.begin(), characters.end());
  std::unique_ptr<Tokenizer> tokenizer = make_char_tokenizer(std::move(characters));
  const JsonValue written = parse_strict_json(tokenizer_to_json(*tokenizer), "tokenizer");
  require(written == root, "tokenizer",
          "a tokenizer.json with byte_fallback and without merges is a char tokenizer's, but its "
          "options, ids or added tokens are not those that one has");
  return tokenizer;
}

}  // namespace tapir::app
