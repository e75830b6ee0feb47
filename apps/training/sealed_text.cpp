#include "apps/training/sealed_text.h"

#include <fmt/format.h>

#include "apps/tokenizer/content_hash.h"

namespace tapir::app {
namespace {

// Where the checksum stands; npos if there is none.
size_t find_seal(std::string_view text) {
  const std::string key = fmt::format("\"{}\": \"", kSealKey);
  const size_t found = text.find(key);
  if (found == std::string_view::npos) return found;
  const size_t begin = found + key.size();
  return begin + kUnsealed.size() <= text.size() ? begin : std::string_view::npos;
}

std::string checksum_of(std::string_view text) {
  ContentHash hash;
  hash.add(text);
  return fmt::format("{:016x}", hash.value());
}

}  // namespace

std::string seal_text(std::string text) {
  const std::string checksum = checksum_of(text);
  return text.replace(find_seal(text), checksum.size(), checksum);
}

bool is_sealed(std::string text) {
  const size_t at = find_seal(text);
  if (at == std::string_view::npos) return false;
  const std::string stated = text.substr(at, kUnsealed.size());
  text.replace(at, kUnsealed.size(), kUnsealed);
  return checksum_of(text) == stated;
}

}  // namespace tapir::app
