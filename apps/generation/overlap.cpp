#include "apps/generation/overlap.h"

namespace tapir::app {

OverlapFinder::OverlapFinder(std::string_view text) : states_(1) {
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
  states_.push_back({.length = at(last_).length + 1, .link = -1, .next = {}});
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

void OverlapFinder::search(std::string_view other) {
  int32_t state = 0, length = 0;
  for (size_t i = 0; i < other.size(); ++i) {
    while (state > 0 && follow(state, other[i]) < 0) {
      state = states_[static_cast<size_t>(state)].link;
      length = states_[static_cast<size_t>(state)].length;
    }
    if (const int32_t next = follow(state, other[i]); next >= 0) {
      state = next;
      ++length;
    }
    const auto size = static_cast<size_t>(length);
    if (size > longest_.size()) longest_ = other.substr(i + 1 - size, size);
  }
}

}  // namespace tapir::app
