#include "apps/tokenizer/tokenizer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "apps/tokenizer/content_hash.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

std::vector<AddedToken> sorted_by_id(std::vector<AddedToken> tokens) {
  std::sort(tokens.begin(), tokens.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.id < b.id; });
  return tokens;
}

std::vector<AddedToken> only_ordinary(const std::vector<AddedToken>& tokens) {
  std::vector<AddedToken> ordinary;
  for (const AddedToken& token : tokens) {
    if (!token.special) ordinary.push_back(token);
  }
  return ordinary;
}

}  // namespace

Tokenizer::Tokenizer(std::vector<AddedToken> added)
    : added_(sorted_by_id(std::move(added))), ordinary_(only_ordinary(added_)), all_(added_) {}

std::vector<int32_t> Tokenizer::encode(std::string_view text, SpecialText special) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3 + 8);
  encode_append(text, ids, special);
  return ids;
}

void Tokenizer::encode_append(std::string_view text, std::vector<int32_t>& ids,
                              SpecialText special) const {
  const AddedTokenMatcher& matcher = special == SpecialText::kParse ? all_ : ordinary_;
  size_t done = 0;
  while (done < text.size()) {
    const AddedTokenMatcher::Match match = matcher.find(text, done);
    if (match.end == match.begin) break;
    if (match.begin > done) encode_plain(text.substr(done, match.begin - done), ids);
    ids.push_back(match.id);
    done = match.end;
  }
  if (done < text.size()) encode_plain(text.substr(done), ids);
}

size_t Tokenizer::safe_cut(std::string_view text, SpecialText special) const {
  const AddedTokenMatcher& matcher = special == SpecialText::kParse ? all_ : ordinary_;
  return matcher.safe_cut(text, [this](std::string_view part) { return plain_cut(part); });
}

std::string Tokenizer::decode(std::span<const int32_t> ids, SpecialOutput special) const {
  std::string text;
  for (const int32_t id : ids) {
    if (special == SpecialOutput::kSkip && is_special(id)) continue;
    text += token_bytes(id);
  }
  return text;
}

bool Tokenizer::is_special(int32_t id) const {
  const auto found =
      std::lower_bound(added_.begin(), added_.end(), id,
                       [](const AddedToken& token, int32_t wanted) { return token.id < wanted; });
  return found != added_.end() && found->id == id && found->special;
}

std::optional<int32_t> Tokenizer::find_special(std::string_view text) const {
  for (const AddedToken& token : added_) {
    if (token.special && token.text == text) return token.id;
  }
  return std::nullopt;
}

std::optional<int32_t> Tokenizer::end_of_text() const {
  for (const char* name : {kEndOfText, "<|end_of_text|>", "</s>"}) {
    if (const std::optional<int32_t> id = find_special(name)) return id;
  }
  return std::nullopt;
}

std::string Tokenizer::hash() const {
  ContentHash hash;
  hash.add(kind());
  hash.add_number(static_cast<uint64_t>(vocab_size()));
  for (int32_t id = 0; id < vocab_size(); ++id) hash.add(token_bytes(id));
  for (const AddedToken& token : added_) {
    hash.add_number(static_cast<uint64_t>(token.id));
    hash.add_number(token.special ? 1 : 0);
  }
  hash.add(rules());
  return fmt::format("{:016x}", hash.value());
}

}  // namespace tapir::app
