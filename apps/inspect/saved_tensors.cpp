#include "apps/inspect/saved_tensors.h"

#include <algorithm>

namespace tapir::app {
namespace {

bool same_storage(const TensorImpl& impl, const Tensor& tensor) {
  return tensor.defined() && tensor.get().storage == impl.storage;
}

// Which tensor of the operation it is. Inputs come first: the output of a view is its input too.
std::string role(const TensorImpl& impl, std::span<const Tensor> inputs, const Tensor& output) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (same_storage(impl, inputs[i])) return fmt::format("input {}", i);
  }
  return same_storage(impl, output) ? "output" : "kept beside the output";
}

}  // namespace

void CaptureFinder::add_parameter(const std::string& name, const Tensor& parameter) {
  parameters_[parameter.impl().get()] = name;
  known_.push_back(parameter.impl());
}

void CaptureFinder::begin_pass() {
  lasting_.clear();
  for (const auto& weak : known_) {
    if (const auto impl = weak.lock()) lasting_.insert(impl->storage);
  }
}

std::string CaptureFinder::parameter_name(const Tensor& leaf) const {
  const auto found = parameters_.find(leaf.impl().get());
  return found == parameters_.end() ? "" : found->second;
}

std::vector<SavedTensor> CaptureFinder::find(std::string_view op, std::span<const Tensor> inputs,
                                             const Tensor& output, const Backward& backward) {
  std::vector<SavedTensor> saved;
  for (const std::shared_ptr<TensorImpl>& impl : captured_by(backward)) {
    const std::string what = role(*impl, inputs, output);
    saved.push_back({.what = what,
                     .why = reason_to_save(op, what),
                     .shape = impl->shape,
                     .dtype = impl->dtype,
                     .bytes = static_cast<int64_t>(impl->storage->bytes()),
                     .storage = number_of(impl->storage),
                     .lasting = lasting_.contains(impl->storage)});
  }
  return saved;
}

std::vector<std::shared_ptr<TensorImpl>> CaptureFinder::captured_by(const Backward& backward) {
  std::vector<std::shared_ptr<TensorImpl>> alive;
  for (const auto& weak : known_) {
    if (auto impl = weak.lock()) alive.push_back(std::move(impl));
  }
  known_.assign(alive.begin(), alive.end());
  std::sort(alive.begin(), alive.end());
  alive.erase(std::unique(alive.begin(), alive.end()), alive.end());
  std::vector<long> owners;
  for (const auto& impl : alive) owners.push_back(impl.use_count());
  const Backward copy = backward;
  std::vector<std::shared_ptr<TensorImpl>> captured;
  for (size_t i = 0; i < alive.size(); ++i) {
    if (alive[i].use_count() > owners[i]) captured.push_back(alive[i]);
  }
  return captured;
}

int64_t CaptureFinder::number_of(const std::shared_ptr<Storage>& storage) {
  return storages_.emplace(storage, static_cast<int64_t>(storages_.size())).first->second;
}

std::string reason_to_save(std::string_view op, std::string_view what) {
  struct Reason {
    std::string_view op, what, why;
  };
  static constexpr Reason kReasons[] = {
      {"linear", "input 0", "dW = grad^T x"},
      {"linear", "input 1", "dx = grad W"},
      {"matmul", "input 0", "dB = A^T grad"},
      {"matmul", "input 1", "dA = grad B^T"},
      {"mul", "input 0", "the gradient of one factor is grad times the other"},
      {"mul", "input 1", "the gradient of one factor is grad times the other"},
      {"div", "input 0", "d/db (a / b) = -a / b^2"},
      {"div", "input 1", "d/da (a / b) = 1 / b"},
      {"rms_norm", "input 0", "the normalised x is computed again from x and 1/rms"},
      {"rms_norm", "input 1", "the gain scales the gradient of x"},
      {"rms_norm", "kept beside the output", "1/rms, one number per row"},
      {"layer_norm", "input 0", "the normalised x is computed again from x, mean and 1/std"},
      {"layer_norm", "input 1", "the gain scales the gradient of x"},
      {"layer_norm", "kept beside the output", "the mean or 1/std, one number per row"},
      {"swiglu", "input 0", "both gradients need silu(gate) or its derivative"},
      {"swiglu", "input 1", "dgate = grad * up * silu'(gate)"},
      {"scaled_dot_product_attention", "input 0", "q: the scores are computed again, and dk"},
      {"scaled_dot_product_attention", "input 1", "k: the scores are computed again, and dq"},
      {"scaled_dot_product_attention", "input 2", "v: the gradient of the probabilities"},
      {"scaled_dot_product_attention", "output",
       "sum(grad * output) of a row is what softmax's gradient subtracts"},
      {"scaled_dot_product_attention", "kept beside the output",
       "one log-sum-exp per query turns scores into probabilities again"},
      {"cross_entropy", "input 0", "dlogits = softmax(logits) - onehot(target)"},
      {"cross_entropy", "kept beside the output", "the targets, and one log-sum-exp per row"},
      {"rope", "kept beside the output", "the tables of cosines and sines, to rotate back"},
      {"embedding", "kept beside the output", "the ids: each row of dweight sums its gradients"},
      {"softmax", "output", "dx = p * (grad - sum(p * grad))"},
      {"log_softmax", "output", "dx = grad - exp(out) * sum(grad)"},
      {"exp", "output", "the derivative of exp is its output"},
      {"where", "kept beside the output", "the condition says where the gradient goes"},
  };
  for (const Reason& reason : kReasons) {
    if (reason.op == op && reason.what == what) return std::string(reason.why);
  }
  return what == "output" ? "its derivative is a function of its output"
                          : "its derivative depends on these values";
}

}  // namespace tapir::app
