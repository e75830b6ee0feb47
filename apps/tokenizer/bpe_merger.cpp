#include "apps/tokenizer/bpe_merger.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <tuple>

namespace tapir::app {
namespace {

// The tokens of a long piece as a linked list, so that joining two costs the same anywhere.
struct Part {
  int32_t id = 0;
  int32_t rank = kNoRank;  // of the merge with the next part
  size_t previous = 0;
  size_t next = 0;  // the number of parts: none
  bool alive = true;
};

struct Candidate {
  int32_t rank = 0;
  size_t left = 0;
  bool operator>(const Candidate& other) const {
    return std::tie(rank, left) > std::tie(other.rank, other.left);
  }
};

}  // namespace

BpeMerger::BpeMerger(const BpeModel& model, const std::array<int32_t, 256>& byte_ids)
    : byte_ids_(byte_ids), pairs_(model.merges.size()) {
  for (size_t i = 0; i < model.merges.size(); ++i) {
    const Merge& merge = model.merges[i];
    const auto rank = static_cast<int32_t>(i);
    if (!pairs_.insert(merge.left, merge.right, rank, merge.product) && duplicate_rank_ < 0) {
      duplicate_rank_ = rank;
    }
  }
}

void BpeMerger::append(std::string_view piece, std::vector<int32_t>& ids) const {
  if (piece.size() <= kShort) {
    append_short(piece, ids);
  } else {
    append_long(piece, ids);
  }
}

void BpeMerger::append_short(std::string_view piece, std::vector<int32_t>& ids) const {
  std::array<int32_t, kShort + 1> parts;
  std::array<int32_t, kShort + 1> ranks;  // of the merge of parts i and i + 1
  size_t count = piece.size();
  for (size_t i = 0; i < count; ++i) parts[i] = byte_ids_[static_cast<uint8_t>(piece[i])];
  for (size_t i = 0; i + 1 < count; ++i) ranks[i] = pairs_.find(parts[i], parts[i + 1]).rank;
  while (count > 1) {
    const auto last = ranks.begin() + static_cast<std::ptrdiff_t>(count - 1);
    const auto best = std::min_element(ranks.begin(), last);
    if (*best == kNoRank) break;
    const auto at = static_cast<size_t>(best - ranks.begin());
    parts[at] = pairs_.find(parts[at], parts[at + 1]).product;
    --count;
    std::copy(parts.begin() + at + 2, parts.begin() + count + 1, parts.begin() + at + 1);
    std::copy(best + 1, last, best);
    if (at > 0) ranks[at - 1] = pairs_.find(parts[at - 1], parts[at]).rank;
    if (at + 1 < count) ranks[at] = pairs_.find(parts[at], parts[at + 1]).rank;
  }
  ids.insert(ids.end(), parts.begin(), parts.begin() + count);
}

void BpeMerger::append_long(std::string_view piece, std::vector<int32_t>& ids) const {
  const size_t count = piece.size();
  std::vector<Part> parts(count);
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> queue;
  const auto rank_with_next = [&](size_t i) {
    Part& part = parts[i];
    part.rank = part.next == count ? kNoRank : pairs_.find(part.id, parts[part.next].id).rank;
    if (part.rank != kNoRank) queue.push({part.rank, i});
  };
  for (size_t i = 0; i < count; ++i) {
    parts[i].id = byte_ids_[static_cast<uint8_t>(piece[i])];
    parts[i].previous = i - 1;
    parts[i].next = i + 1;
  }
  for (size_t i = 0; i < count; ++i) rank_with_next(i);
  while (!queue.empty()) {
    const Candidate best = queue.top();
    queue.pop();
    Part& left = parts[best.left];
    if (!left.alive || left.rank != best.rank) continue;  // overtaken by another merge
    Part& right = parts[left.next];
    left.id = pairs_.find(left.id, right.id).product;
    right.alive = false;
    left.next = right.next;
    if (left.next < count) parts[left.next].previous = best.left;
    rank_with_next(best.left);
    if (best.left > 0) rank_with_next(left.previous);
  }
  for (size_t i = 0; i < count; i = parts[i].next) ids.push_back(parts[i].id);
}

}  // namespace tapir::app
