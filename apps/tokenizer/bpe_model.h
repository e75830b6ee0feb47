// What a byte-level BPE tokenizer consists of, however it was trained or read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "apps/tokenizer/split_rule.h"
#include "apps/tokenizer/tokenizer.h"

namespace tapir::app {

// Two neighbouring tokens that become one.
struct Merge {
  int32_t left = 0;
  int32_t right = 0;
  int32_t product = 0;
};

struct BpeModel {
  std::vector<std::string> tokens;  // bytes by id; of added tokens the text
  std::vector<Merge> merges;        // earlier ones win
  std::vector<AddedToken> added;
  SplitRule rule = SplitRule::kGpt2;
  bool ignore_merges = false;  // a piece that is a token as a whole is not built by merges
  std::optional<int32_t> begin_of_text;
};

// A model that lacks a byte, or with ids out of range, a product that is not the two parts, or a
// pair that is listed twice, is an Error.
std::unique_ptr<Tokenizer> make_bpe_tokenizer(BpeModel model);

}  // namespace tapir::app
