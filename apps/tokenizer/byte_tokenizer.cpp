#include "apps/tokenizer/byte_tokenizer.h"

#include <vector>

#include "apps/tokenizer/byte_level.h"
#include "apps/tokenizer/json_parts.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr int32_t kByteCount = 256;

class ByteTokenizer final : public Tokenizer {
 public:
  explicit ByteTokenizer(bool begins_with_end_of_text)
      : Tokenizer({{kByteCount, kEndOfText}}), begins_with_end_of_text_(begins_with_end_of_text) {}

  std::string kind() const override { return "byte"; }
  int32_t vocab_size() const override { return kByteCount + 1; }
  std::optional<int32_t> begin_of_text() const override {
    return begins_with_end_of_text_ ? std::optional(kByteCount) : std::nullopt;
  }

  std::string token_bytes(int32_t id) const override {
    require(id >= 0 && id < vocab_size(), "tokenizer", "token id {} is outside 0 .. {}", id,
            vocab_size() - 1);
    return id == kByteCount ? kEndOfText : std::string(1, static_cast<char>(id));
  }

 private:
  void encode_plain(std::string_view text, std::vector<int32_t>& ids) const override {
    for (const char byte : text) ids.push_back(static_cast<uint8_t>(byte));
  }

  size_t plain_cut(std::string_view text) const override { return text.size(); }

  std::string to_json() const override {
    std::vector<std::string> texts;
    for (int32_t id = 0; id < kByteCount; ++id) texts.push_back(to_byte_level(token_bytes(id)));
    texts.push_back(kEndOfText);
    return fmt::format(
        R"({{"version":"1.0","truncation":null,"padding":null,"added_tokens":{},)"
        R"("normalizer":null,"pre_tokenizer":{},"post_processor":{},"decoder":{},)"
        R"("model":{{"type":"BPE","dropout":null,"unk_token":null,)"
        R"("continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,)"
        R"("byte_fallback":false,"ignore_merges":false,"vocab":{},"merges":[]}}}})"
        "\n",
        added_tokens_json(added_tokens()),
        R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":false})",
        begins_with_end_of_text_ ? template_json(kEndOfText, kByteCount) : "null",
        R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true,"use_regex":true})",
        vocab_json(texts));
  }

  std::string rules() const override {
    return begins_with_end_of_text_ ? "byte, begins with end of text" : "byte";
  }

  bool begins_with_end_of_text_;
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer(bool begins_with_end_of_text) {
  return std::make_unique<ByteTokenizer>(begins_with_end_of_text);
}

bool is_byte_tokenizer_json(const JsonValue& root) {
  const JsonValue& pre_tokenizer = root["pre_tokenizer"];
  const JsonValue& merges = root["model"]["merges"];
  return pre_tokenizer["use_regex"].describe() == "false" && merges.is_array() &&
         merges.array("model.merges").empty();
}

std::unique_ptr<Tokenizer> byte_tokenizer_from_json(const JsonValue& root) {
  std::unique_ptr<Tokenizer> tokenizer =
      make_byte_tokenizer(/*begins_with_end_of_text=*/!root["post_processor"].is_null());
  const JsonValue written = parse_strict_json(tokenizer_to_json(*tokenizer), "tokenizer");
  require(written == root, "tokenizer",
          "a tokenizer.json with use_regex false and without merges is a byte tokenizer's, but its "
          "options, ids or added tokens are not those that one has");
  return tokenizer;
}

}  // namespace tapir::app
