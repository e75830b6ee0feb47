#include "apps/generation/overlap.h"

namespace tapir::app {

OverlapFinder::OverlapFinder(std::string_view text) : text_(text), states_(1) {
  for (const char c : text) append(c);
}

int32_t OverlapFinder::follow(int32_t state, char c) const {
  for (const auto& edge : states_[static_cast<size_t>(state)].next) {
    if (edge.first == c) return edge.second;
  }
  return -1;
}

void OverlapFinder::set(int32_t state, char c, int32_t target) {
  for (auto& edge : states_[static_cast<size_t>(state)].next) {
    if (edge.first == c) {
      edge.second = target;
      return;
    }
  }
  states_[static_cast<size_t>(state)].next.push_back({c, target});
}

void OverlapFinder::append(char c) {
  const auto at = [this](int32_t state) -> State& { return states_[static_cast<size_t>(state)]; };
  const auto added = static_cast<int32_t>(states_.size());
  const int32_t length = at(last_).length + 1;  // all of the text so far
  states_.push_back({.length = length, .link = -1, .end = length, .next = {}});
  int32_t state = last_;
  for (; state >= 0 && follow(state, c) < 0; state = at(state).link) set(state, c, added);
  last_ = added;
  if (state < 0) {
    at(added).link = 0;
    return;
  }
  const int32_t target = follow(state, c);
  if (at(target).length == at(state).length + 1) {
    at(added).link = target;
    return;
  }
  // `target` also stands for longer passages, which do not end here: they keep it, and the shorter
  // ones get a state of their own.
  const auto copy = static_cast<int32_t>(states_.size());
  states_.push_back(at(target));
  at(copy).length = at(state).length + 1;
  at(target).link = at(added).link = copy;
  for (; state >= 0 && follow(state, c) == target; state = at(state).link) set(state, c, copy);
}

void OverlapFinder::search(std::string_view portion) {
  const auto at = [this](int32_t state) -> State& { return states_[static_cast<size_t>(state)]; };
  for (const char c : portion) {
    while (state_ > 0 && follow(state_, c) < 0) {
      state_ = at(state_).link;
      length_ = at(state_).length;
    }
    if (const int32_t next = follow(state_, c); next >= 0) {
      state_ = next;
      ++length_;
    }
    const auto size = static_cast<size_t>(length_);
    if (size > longest_.size()) {
      longest_ = std::string_view(text_).substr(static_cast<size_t>(at(state_).end) - size, size);
    }
  }
}

}  // namespace tapir::app
