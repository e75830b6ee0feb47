// JSON lines: the documents do not depend on where the pieces of the file end.
#include "apps/data/json_lines.h"

#include <vector>

#include "tests/fuzz/fuzz.h"

using namespace tapir;

namespace {

struct Outcome {
  std::vector<std::string> documents;
  std::string error;
  bool operator==(const Outcome&) const = default;
};

Outcome read_in_pieces(std::string_view bytes, size_t piece) {
  Outcome outcome;
  try {
    app::JsonLines lines("a.jsonl", "text",
                         [&](std::string_view text) { outcome.documents.emplace_back(text); });
    for (size_t at = 0; at < bytes.size(); at += piece) lines.add(bytes.substr(at, piece));
    lines.finish();
  } catch (const Error& error) {
    outcome.error = error.what();
  }
  return outcome;
}

}  // namespace

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes = testing::as_text(data, size);
  testing::must(read_in_pieces(bytes, size + 1) == read_in_pieces(bytes, 3));
  return 0;
}
