#include "apps/generation/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "backends/error.h"

namespace tapir::app {

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_) {
    require(!stop.empty(), "--stop", "an empty string would stop at once");
  }
}

std::string StopMatcher::push(std::string_view bytes) {
  if (stopped_) return "";
  pending_ += bytes;
  size_t end = std::string::npos;
  for (const std::string& stop : stops_) end = std::min(end, pending_.find(stop));
  if (end != std::string::npos) {
    stopped_ = true;
    pending_.resize(end);
    return std::exchange(pending_, "");
  }
  const size_t certain = pending_.size() - length_of_possible_start();
  std::string text = pending_.substr(0, certain);
  pending_.erase(0, certain);
  return text;
}

std::string StopMatcher::finish() {
  return std::exchange(pending_, "");
}

// The longest end of what is pending that is the beginning of a stop string.
size_t StopMatcher::length_of_possible_start() const {
  size_t longest = 0;
  for (const std::string& stop : stops_) {
    const size_t most = std::min(stop.size() - 1, pending_.size());
    for (size_t length = most; length > longest; --length) {
      const std::string_view end = std::string_view(pending_).substr(pending_.size() - length);
      if (std::string_view(stop).starts_with(end)) longest = length;
    }
  }
  return longest;
}

}  // namespace tapir::app
