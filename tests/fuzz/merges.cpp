// GPT-2's two files: the text of vocab.json, a zero byte, and the text of merges.txt.
#include "apps/tokenizer/bpe_files.h"
#include "tests/fuzz/fuzz.h"

using namespace tapir;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return testing::expect_at_most_an_error([&] {
    const std::string_view text = testing::as_text(data, size);
    const size_t end = text.find('\0');
    if (end == std::string_view::npos) return;
    const auto tokenizer =
        app::make_bpe_tokenizer(app::bpe_from_gpt2(text.substr(0, end), text.substr(end + 1)));
    const std::string sample = "abc abc \xe2\x82\xac";
    testing::must(tokenizer->decode(tokenizer->encode(sample)) == sample);
  });
}
