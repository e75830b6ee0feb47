// UTF-8 in pieces: the text does not depend on where the pieces end, and is valid UTF-8.
#include "apps/tokenizer/utf8_stream.h"

#include "apps/tokenizer/utf8.h"
#include "tests/fuzz/fuzz.h"

using namespace tapir;

namespace {

// The text of `bytes` in pieces whose lengths follow from `pattern`.
std::string in_pieces(std::string_view bytes, uint8_t pattern) {
  app::Utf8Stream stream;
  std::string text;
  while (!bytes.empty()) {
    pattern = static_cast<uint8_t>(pattern * 5 + 1);
    const size_t length = std::min<size_t>(1 + pattern % 4, bytes.size());
    text += stream.push(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return text + stream.finish();
}

bool is_valid(std::string_view text) {
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const app::CodePoint decoded = app::decode_utf8(at, end);
    if (decoded.length == 0) return false;
    at += decoded.length;
  }
  return true;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = testing::as_text(data, size);
  app::Utf8Stream whole;
  std::string text = whole.push(bytes);
  text += whole.finish();
  testing::must(is_valid(text));
  testing::must(in_pieces(bytes, size == 0 ? 0 : data[0]) == text);
  return 0;
}
