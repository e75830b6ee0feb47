// safetensors files: what is read can be written and read again.
#include "autograd/serialize.h"
#include "tests/fuzz/fuzz.h"

using namespace tapir;

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  return testing::expect_at_most_an_error([&] {
    const testing::MemoryFile file(testing::as_text(data, size));
    const SafetensorsFile read = load_safetensors(file.path());
    for (const auto& entry : read.tensors) {
      testing::must(entry.second.numel() >= 0);
      if (entry.second.numel() > 0) entry.second.to_vector();
    }
  });
}
