#include <vector>

#include "apps/tokenizer/tokenizer.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr int32_t kByteCount = 256;

class ByteTokenizer final : public Tokenizer {
 public:
  ByteTokenizer() : Tokenizer({{kByteCount, kEndOfText}}) {}

  std::string kind() const override { return "byte"; }
  int32_t vocab_size() const override { return kByteCount + 1; }

  std::string token_bytes(int32_t id) const override {
    require(id >= 0 && id < vocab_size(), "tokenizer", "token id {} is outside 0 .. {}", id,
            vocab_size() - 1);
    return id == kByteCount ? kEndOfText : std::string(1, static_cast<char>(id));
  }

 private:
  void encode_plain(std::string_view text, std::vector<int32_t>& ids) const override {
    for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  }

  std::string to_json() const override { return "{}"; }
  std::string rules() const override { return ""; }
};

}  // namespace

std::unique_ptr<Tokenizer> make_byte_tokenizer() {
  return std::make_unique<ByteTokenizer>();
}

}  // namespace tapir::app
