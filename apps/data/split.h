// Tokens to train on and tokens to validate on.
#pragma once

#include <optional>

#include "apps/data/token_data.h"

namespace tapir::app {

struct Split {
  TokenSequence train;
  TokenSequence validation;
  // Of all the data. Of token files no more than the split came by.
  int64_t documents = 1;
};

// Keeps about `fraction` of the tokens for validation. With 20 documents or more those are whole
// documents spread over the data, so that both parts see its whole range; else they are its end.
// `separator`, if the tokenizer has one, tells the documents of token files apart, of which only
// the surroundings of a few places are read.
Split split_tokens(const TokenData& data, double fraction, std::optional<int32_t> separator);

}  // namespace tapir::app
