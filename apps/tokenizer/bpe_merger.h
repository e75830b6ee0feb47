// Byte-pair encoding of one piece of text.
// Source: Sennrich, Haddow, Birch 2016, "Neural Machine Translation of Rare Words with Subword
// Units"; on bytes as in Radford et al. 2019.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "apps/tokenizer/bpe_model.h"
#include "apps/tokenizer/pair_table.h"

namespace tapir::app {

// Starts from single bytes and, as long as some neighbours can merge, joins the pair that was
// learned first, the leftmost of equals. Immutable.
class BpeMerger {
 public:
  // `model` must have passed the checks of make_bpe_tokenizer. `byte_ids` by byte value.
  BpeMerger(const BpeModel& model, const std::array<int32_t, 256>& byte_ids);

  // False if the pair is listed twice in the model: `duplicate_rank` says where.
  bool has_duplicate() const { return duplicate_rank_ >= 0; }
  int32_t duplicate_rank() const { return duplicate_rank_; }

  // Appends the ids of `piece`. Takes O(n^2) steps for short pieces, O(n log n) for long ones.
  void append(std::string_view piece, std::vector<int32_t>& ids) const;

 private:
  static constexpr size_t kShort = 48;  // bytes; below it scanning beats a heap

  void append_short(std::string_view piece, std::vector<int32_t>& ids) const;
  void append_long(std::string_view piece, std::vector<int32_t>& ids) const;

  std::array<int32_t, 256> byte_ids_;
  PairTable pairs_;
  int32_t duplicate_rank_ = -1;
};

}  // namespace tapir::app
