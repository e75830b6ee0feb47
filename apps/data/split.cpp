#include "apps/data/split.h"

#include <algorithm>
#include <cmath>

namespace tapir::app {
namespace {

constexpr size_t kSplitByDocument = 20;
constexpr int64_t kPieces = 10;  // of token files, each with a validation part at its end

Split split_at_end(const TokenData& data, double fraction, int64_t documents) {
  const int64_t size = data.tokens.size();
  const int64_t validation = std::llround(static_cast<double>(size) * fraction);
  return {data.tokens.part(0, size - validation), data.tokens.part(size - validation, validation),
          documents};
}

// The validation part grows by a document whenever `fraction` of the documents so far reaches a
// whole number.
Split split_documents(const TokenData& data, double fraction) {
  const std::vector<int64_t>& starts = data.document_starts;
  const auto validating = [&](size_t count) {
    constexpr double kRounding = 1e-9;
    return std::floor(static_cast<double>(count) * fraction + kRounding);
  };
  Split split{.train = {}, .validation = {}, .documents = static_cast<int64_t>(starts.size())};
  for (size_t i = 0; i < starts.size(); ++i) {
    const int64_t end = i + 1 < starts.size() ? starts[i + 1] : data.tokens.size();
    const bool validates = validating(i + 1) > validating(i);
    (validates ? split.validation : split.train)
        .append(data.tokens.part(starts[i], end - starts[i]));
  }
  return split;
}

// The position behind the first separator from `begin` on, none if it is not before `end`. Token
// files have the separator behind each document.
std::optional<int64_t> document_after(const TokenSequence& tokens, int32_t separator, int64_t begin,
                                      int64_t end) {
  constexpr int64_t kAtOnce = 4096;
  std::vector<int32_t> ids;
  while (begin < end) {
    ids.resize(static_cast<size_t>(std::min(kAtOnce, end - begin)));
    tokens.copy(begin, ids);
    const auto found = std::find(ids.begin(), ids.end(), separator);
    if (found != ids.end()) return begin + (found - ids.begin()) + 1;
    begin += static_cast<int64_t>(ids.size());
  }
  return std::nullopt;
}

// Where the validation parts of token files begin and end, in turns; none if the files are not
// divided into documents that are short beside them.
std::vector<int64_t> find_cuts(const TokenSequence& tokens, int32_t separator, double fraction) {
  constexpr int64_t kLongestSearch = int64_t{1} << 20;
  const int64_t size = tokens.size();
  const int64_t part = std::llround(static_cast<double>(size) * fraction / kPieces);
  std::vector<int64_t> cuts;
  for (int64_t piece = 0; piece < kPieces; ++piece) {
    // In 128 bits nothing overflows.
    __extension__ using Wide = __int128;
    const auto end = static_cast<int64_t>(Wide{size} * (piece + 1) / kPieces);
    const auto next_part = static_cast<int64_t>(Wide{size} * (piece + 2) / kPieces) - part;
    const auto first =
        document_after(tokens, separator, end - part, std::min(end, end - part + kLongestSearch));
    const auto last =
        piece + 1 == kPieces
            ? std::optional(size)
            : document_after(tokens, separator, end - 1, std::min(next_part, end + kLongestSearch));
    if (!first || !last || *first >= *last) return {};
    cuts.insert(cuts.end(), {*first, *last});
  }
  return cuts;
}

Split split_token_files(const TokenData& data, double fraction, std::optional<int32_t> separator) {
  const TokenSequence& tokens = data.tokens;
  const std::vector<int64_t> cuts =
      separator && fraction > 0 ? find_cuts(tokens, *separator, fraction) : std::vector<int64_t>();
  if (cuts.empty()) {
    constexpr int64_t kLook = int64_t{1} << 20;
    const bool several =
        separator && document_after(tokens, *separator, 0, std::min(kLook, tokens.size() - 1));
    return split_at_end(data, fraction, several ? 2 : 1);
  }
  Split split{.train = {}, .validation = {}, .documents = static_cast<int64_t>(cuts.size())};
  int64_t done = 0;
  for (size_t i = 0; i < cuts.size(); i += 2) {
    split.train.append(tokens.part(done, cuts[i] - done));
    split.validation.append(tokens.part(cuts[i], cuts[i + 1] - cuts[i]));
    done = cuts[i + 1];
  }
  split.train.append(tokens.part(done, tokens.size() - done));
  return split;
}

}  // namespace

Split split_tokens(const TokenData& data, double fraction, std::optional<int32_t> separator) {
  if (data.from_token_files) return split_token_files(data, fraction, separator);
  const size_t documents = data.document_starts.size();
  return documents >= kSplitByDocument
             ? split_documents(data, fraction)
             : split_at_end(data, fraction, static_cast<int64_t>(documents));
}

}  // namespace tapir::app
