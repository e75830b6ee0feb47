// Token files.
#include "apps/tokenizer/token_file.h"

#include <vector>

#include "tests/fuzz/fuzz.h"

using namespace tapir;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return testing::expect_at_most_an_error([&] {
    const testing::MemoryFile memory(testing::as_text(data, size));
    const app::TokenFile file(memory.path());
    std::vector<int32_t> ids(static_cast<size_t>(file.size()));
    file.read(0, ids);
    for (const int32_t id : ids) testing::must(id >= 0 && id < file.vocab_size());
    file.verify();
  });
}
