// tokenizer.json: a tokenizer that was read gives every byte string back, and survives its own
// file.
#include "apps/tokenizer/tokenizer.h"
#include "tests/fuzz/fuzz.h"

using namespace tapir;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return testing::expect_at_most_an_error([&] {
    const auto tokenizer = app::tokenizer_from_json(testing::as_text(data, size));
    const std::string text = "It's 12 caf\xc3\xa9s\n  \xff\x01 <|endoftext|>";
    if (tokenizer->kind() != "char") {
      testing::must(tokenizer->decode(tokenizer->encode(text), app::SpecialOutput::kKeep) == text);
    }
    const auto again = app::tokenizer_from_json(app::tokenizer_to_json(*tokenizer));
    testing::must(again->hash() == tokenizer->hash());
  });
}
