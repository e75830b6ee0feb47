#include "autograd/state_dict.h"

#include <set>

#include "autograd/tape.h"

namespace tapir {
namespace {

// Collects what is wrong with a state dict, for one message.
class Problems {
 public:
  void add(std::string_view text) {
    if (++count_ > kShown) return;
    text_ += text_.empty() ? "" : "; ";
    text_ += text;
  }
  void raise(std::string_view op) const {
    if (count_ == 0) return;
    const std::string rest = count_ > kShown ? fmt::format("; and {} more", count_ - kShown) : "";
    fail(op, "{}{}", text_, rest);
  }

 private:
  static constexpr int kShown = 20;
  std::string text_;
  int count_ = 0;
};

}  // namespace

void check_tensors(std::string_view op, const std::vector<NamedTensor>& targets,
                   const StateDict& state) {
  Problems problems;
  std::set<std::string_view> known;
  for (const NamedTensor& target : targets) {
    known.insert(target.name);
    const auto found = state.find(target.name);
    if (found == state.end()) {
      problems.add("missing " + target.name);
      continue;
    }
    const Tensor& source = found->second;
    if (source.shape() != target.tensor.shape()) {
      problems.add(
          fmt::format("{} is {}, must be {}", target.name, source.shape(), target.tensor.shape()));
    } else if (is_floating(source.dtype()) != is_floating(target.tensor.dtype())) {
      problems.add(
          fmt::format("{} is {}, must be {}", target.name, source.dtype(), target.tensor.dtype()));
    }
  }
  for (const auto& entry : state)
    if (!known.count(entry.first)) problems.add("unexpected " + entry.first);
  problems.raise(op);
}

void load_tensors(std::string_view op, const std::vector<NamedTensor>& targets,
                  const StateDict& state) {
  check_tensors(op, targets, state);
  NoGrad pause;
  for (const NamedTensor& target : targets) Tensor(target.tensor).copy_(state.at(target.name));
}

}  // namespace tapir
