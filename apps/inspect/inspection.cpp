#include "apps/inspect/inspection.h"

#include <algorithm>
#include <set>

namespace tapir::app {
namespace {

// Adds the bytes of the storages that are not in `seen` yet.
int64_t add_storages(const std::vector<SavedTensor>& saved, std::set<int64_t>& seen) {
  int64_t bytes = 0;
  for (const SavedTensor& tensor : saved) {
    if (!tensor.lasting && seen.insert(tensor.storage).second) bytes += tensor.bytes;
  }
  return bytes;
}

}  // namespace

int64_t NodeRecord::saved_bytes() const {
  std::set<int64_t> seen;
  return add_storages(saved, seen);
}

int64_t Inspection::saved_bytes() const {
  std::set<int64_t> seen;
  int64_t bytes = 0;
  for (const NodeRecord& node : nodes) bytes += add_storages(node.saved, seen);
  return bytes;
}

int64_t Inspection::peak_bytes() const {
  int64_t peak = bytes_before;
  for (const MemoryPoint& point : memory) peak = std::max(peak, point.peak);
  return peak;
}

double Inspection::forward_seconds() const {
  double seconds = 0;
  for (const NodeRecord& node : nodes) seconds += node.forward_seconds;
  return seconds;
}

double Inspection::backward_seconds() const {
  double seconds = 0;
  for (const NodeRecord& node : nodes) seconds += node.backward_seconds;
  return seconds;
}

double Inspection::flops() const {
  double flops = 0;
  for (const NodeRecord& node : nodes) flops += node.forward_flops + node.backward_flops;
  return flops;
}

}  // namespace tapir::app
