// Which tensors a node's gradient function keeps, and what for.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/inspect/inspection.h"
#include "autograd/tape.h"

namespace tapir::app {

// Knows every tensor that was made while it watched. What a function captured cannot be asked for
// in C++, but a copy of the function copies its captures: the tensors whose number of owners rises
// are those.
class CaptureFinder {
 public:
  void tensor_made(const std::shared_ptr<TensorImpl>& impl) { known_.push_back(impl); }
  // A leaf that was there before, by its name.
  void add_parameter(const std::string& name, const Tensor& parameter);
  // What exists now lasts longer than the pass.
  void begin_pass();
  // The name of a leaf, or "".
  std::string parameter_name(const Tensor& leaf) const;

  std::vector<SavedTensor> find(std::string_view op, std::span<const Tensor> inputs,
                                const Tensor& output, const Backward& backward);

 private:
  std::vector<std::shared_ptr<TensorImpl>> captured_by(const Backward& backward);
  int64_t number_of(const std::shared_ptr<Storage>& storage);

  std::vector<std::weak_ptr<TensorImpl>> known_;
  std::map<const TensorImpl*, std::string> parameters_;
  // By weak pointers, so that a new storage at the address of a freed one gets a new number.
  std::map<std::weak_ptr<Storage>, int64_t, std::owner_less<>> storages_;
  std::set<std::weak_ptr<Storage>, std::owner_less<>> lasting_;
};

// What the gradient of `op` needs its `what` for; a general sentence for operations that the table
// does not have.
std::string reason_to_save(std::string_view op, std::string_view what);

}  // namespace tapir::app
