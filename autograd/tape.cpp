#include "autograd/tape.h"

#include <algorithm>
#include <atomic>

#include "autograd/anomaly.h"
#include "autograd/ops.h"
#include "autograd/tape_observer.h"

namespace tapir {
namespace {

thread_local Tape* innermost_tape = nullptr;
thread_local bool paused = false;
thread_local Tape* outermost_running = nullptr;  // the tape whose backward() was called by the user
std::atomic<uint64_t> next_tape_id{1};

// Whether x is dense and nobody else can see its buffer, so that adding into it is safe.
bool sole_owner(const Tensor& x) {
  return x.impl().use_count() == 1 && x.get().storage.use_count() == 1 && x.is_contiguous();
}

// Leaves keep their gradient dense and to themselves: an optimizer reads it as plain memory, and
// the next pass adds to it in place. A part of a larger buffer would keep all of that alive.
Tensor as_leaf_gradient(Tensor grad) {
  NoGrad pause;
  const size_t bytes = static_cast<size_t>(grad.numel()) * size_of(grad.dtype());
  return sole_owner(grad) && grad.storage().bytes() == bytes ? detach(grad) : clone(grad);
}

// slot += grad, in place where that cannot be seen from outside.
void accumulate(Tensor& slot, Tensor grad) {
  if (!slot.defined()) {
    slot = std::move(grad);
  } else if (sole_owner(slot)) {
    slot.backend().binary(BinaryOp::add, slot.view(), grad.view(), slot.view());
  } else {
    slot = add(slot, grad);
  }
}

void accumulate_leaf(TensorImpl& leaf, Tensor grad) {
  if (leaf.grad) {
    Tensor total(leaf.grad);
    total.backend().binary(BinaryOp::add, total.view(), grad.view(), total.view());
    total.storage().bump_version();
  } else {
    leaf.grad = as_leaf_gradient(std::move(grad)).impl();
  }
}

// Marks the tape whose backward pass runs on this thread. Gradient functions may run tapes of their
// own (checkpoint does); those belong to the pass that is running already.
class RunningPass {
 public:
  explicit RunningPass(Tape& tape) : outermost_(outermost_running == nullptr) {
    if (outermost_) outermost_running = &tape;
  }
  ~RunningPass() {
    if (outermost_) outermost_running = nullptr;
  }
  RunningPass(const RunningPass&) = delete;
  RunningPass& operator=(const RunningPass&) = delete;

  bool is_outermost() const { return outermost_; }

 private:
  bool outermost_;
};

}  // namespace

Tape::Tape() : id_(next_tape_id++), outer_(innermost_tape), outer_paused_(paused) {
  innermost_tape = this;
  paused = false;
}

Tape::~Tape() {
  innermost_tape = outer_;
  paused = outer_paused_;
}

Tape* Tape::recording() {
  return paused || !innermost_tape || innermost_tape->spent_ ? nullptr : innermost_tape;
}

Tape::NodeInfo Tape::info(size_t node) const {
  require(node < nodes_.size(), "tape", "node {} does not exist, the tape has {}", node,
          nodes_.size());
  const Node& n = nodes_[node];
  NodeInfo result{
      n.op, n.layer ? std::string_view(*n.layer) : std::string_view(), {}, n.output_shape};
  for (const Edge& edge : n.edges) result.inputs.push_back(edge.node);
  return result;
}

NoGrad::NoGrad() : before_(paused) {
  paused = true;
}
NoGrad::~NoGrad() {
  paused = before_;
}

void TapeRecorder::forward_done(std::string_view op, const Tensor& output) {
  if (TapeObserver* observer = TapeObserver::current()) observer->operation_done(op, output);
  // Inside a gradient function, intermediate values may be infinite and masked later; what it
  // returns is checked. A tape of its own (checkpoint) records the forward pass again.
  const bool in_gradient_function = outermost_running != nullptr && paused;
  if (DetectAnomaly::enabled() && !in_gradient_function) {
    DetectAnomaly::check(op, "output", output);
  }
}

Tape* TapeRecorder::wants(std::string_view op, std::span<const Tensor> inputs) {
  Tape* tape = Tape::recording();
  if (!tape) return nullptr;
  bool wanted = false;
  for (const Tensor& input : inputs) {
    if (!input.defined() || !input.requires_grad()) continue;
    wanted = true;
    require(input.is_leaf() || input.get().tape == tape->id_, op,
            "an input {} was recorded by another tape, which has ended or is not the innermost; "
            "call detach() to use its values as constants, or pass it to checkpoint() as an input",
            input.shape());
  }
  return wanted ? tape : nullptr;
}

Tensor TapeRecorder::add(Tape& tape, std::string_view op, Tensor output,
                         std::span<const Tensor> inputs, Backward backward) {
  require(!output.requires_grad(), op,
          "its output {} is an input or was recorded before; pass detach(output) to record()",
          output.shape());
  Tape::Node node;
  node.op = op;
  node.layer = Scope::shared_path();
  node.output_shape = output.shape();
  node.edges.reserve(inputs.size());
  node.seen.reserve(inputs.size() + 1);
  for (const Tensor& input : inputs) {
    Tape::Edge edge;
    if (input.defined()) {
      edge.shape = input.shape();
      if (input.requires_grad() && input.is_leaf()) edge.leaf = input.impl();
      if (input.requires_grad()) edge.node = input.get().node;
      node.seen.push_back({input.get().storage, input.storage().version()});
    }
    node.edges.push_back(std::move(edge));
  }
  node.seen.push_back({output.get().storage, output.storage().version()});
  node.output = output.impl();
  node.backward = std::move(backward);

  TensorImpl& impl = output.get();
  impl.requires_grad = true;
  impl.tape = tape.id_;
  impl.node = static_cast<int64_t>(tape.nodes_.size());
  tape.nodes_.push_back(std::move(node));
  if (TapeObserver* observer = TapeObserver::current()) {
    observer->node_recorded(tape, tape.nodes_.size() - 1, inputs, output,
                            tape.nodes_.back().backward);
  }
  return output;
}

Tensor record(std::string_view op, Tensor output, std::vector<InputGradient> inputs) {
  std::vector<Tensor> tensors;
  tensors.reserve(inputs.size());
  std::vector<InputBackward> functions(inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].input.requires_grad()) functions[i] = std::move(inputs[i].backward);
    tensors.push_back(std::move(inputs[i].input));
  }
  return record(op, std::move(output), std::span<const Tensor>(tensors),
                [functions = std::move(functions)](const Tensor& grad) {
                  std::vector<Tensor> grads(functions.size());
                  for (size_t i = 0; i < functions.size(); ++i) {
                    if (functions[i]) grads[i] = functions[i](grad);
                  }
                  return grads;
                });
}

void Tape::backward(const Tensor& loss) {
  require(loss.numel() == 1, "backward",
          "the loss has shape {}; reduce it to one element or pass the gradient that arrives there",
          loss.shape());
  backward(loss, Tensor::ones(loss.shape(), loss.dtype(), loss.device()));
}

void Tape::backward(const Tensor& output, const Tensor& seed) {
  require(!spent_, "backward",
          "this tape has already run backward and freed what it saved; record a new tape");
  require(output.get().tape == id_ && output.get().node >= 0, "backward",
          "the tensor {} was not recorded by this tape; it needs an input that requires grad and "
          "an operation inside the tape's scope",
          output.shape());
  require(seed.shape() == output.shape(), "backward", "seed {} and output {} differ in shape",
          seed.shape(), output.shape());
  require_same_dtype("backward", seed, output);
  require_same_device("backward", seed, output);
  spent_ = true;
  const NoGrad pause;
  const RunningPass pass(*this);

  const auto last = static_cast<size_t>(output.get().node);
  nodes_.resize(last + 1);  // what was recorded after the output cannot matter
  std::vector<Tensor> grads(last + 1);
  grads[last] = seed;
  for (size_t i = last + 1; i-- > 0;) {
    Node node = std::move(nodes_[i]);
    nodes_.pop_back();
    if (!grads[i].defined()) continue;
    const Scope scope(node.layer);
    TapeObserver* observer = TapeObserver::current();
    if (observer) observer->backward_begins(*this, i, node.op, grads[i]);
    run(node, std::move(grads[i]), grads);
    if (observer) observer->backward_ended(*this, i);
  }
  if (pass.is_outermost()) finish_hooked_leaves();
}

// One node: check, call its gradient function, hand the results on.
void Tape::run(Node& node, Tensor grad, std::vector<Tensor>& grads) {
  for (const GradHook& hook : node.hooks) hook(grad);
  if (auto output = node.output.lock(); output && output->retain_grad) output->grad = grad.impl();
  for (const SeenVersion& seen : node.seen) {
    auto storage = seen.storage.lock();
    require(!storage || storage->version() == seen.version, node.op,
            "a tensor it uses for its gradient was written in place after the forward pass; "
            "clone() before writing, or write after backward");
  }
  std::vector<Tensor> input_grads = node.backward(grad);
  require(input_grads.size() == node.edges.size(), node.op,
          "its gradient has {} parts for {} inputs", input_grads.size(), node.edges.size());
  node.backward = nullptr;  // free what it saved before gradients pile up
  grad = Tensor();
  for (size_t input = 0; input < node.edges.size(); ++input) {
    if (!node.edges[input].wanted() || !input_grads[input].defined()) continue;
    deliver(node, input, std::move(input_grads[input]), grads);
  }
}

void Tape::deliver(const Node& node, size_t input, Tensor grad, std::vector<Tensor>& grads) {
  const Edge& edge = node.edges[input];
  require(grad.shape() == edge.shape, node.op, "the gradient of input {} has shape {}, not {}",
          input, grad.shape(), edge.shape);
  if (DetectAnomaly::enabled()) {
    DetectAnomaly::check(node.op, fmt::format("gradient of input {},", input), grad);
  }
  if (edge.node >= 0) {
    accumulate(grads[static_cast<size_t>(edge.node)], std::move(grad));
  } else if (edge.leaf->hooks.empty()) {
    accumulate_leaf(*edge.leaf, std::move(grad));
  } else {
    // A tape that runs inside the backward pass of another one adds to the outer pass.
    auto& waiting = outermost_running->hooked_leaves_;
    auto found = std::find_if(waiting.begin(), waiting.end(),
                              [&](const auto& entry) { return entry.first == edge.leaf; });
    if (found == waiting.end()) found = waiting.insert(found, {edge.leaf, Tensor()});
    accumulate(found->second, std::move(grad));
  }
}

// A hook wants the whole gradient, and only the end of the pass knows that nothing is to come.
void Tape::finish_hooked_leaves() {
  for (auto& [leaf, grad] : hooked_leaves_) {
    for (const GradHook& hook : leaf->hooks) hook(grad);
    accumulate_leaf(*leaf, std::move(grad));
  }
  hooked_leaves_.clear();
}

void Tensor::register_hook(GradHook hook) const {
  require(requires_grad(), "register_hook", "the tensor {} does not require grad", shape());
  if (is_leaf()) {
    get().hooks.push_back(std::move(hook));
    return;
  }
  Tape* tape = Tape::recording();
  require(tape && get().tape == tape->id_, "register_hook",
          "the tape that recorded this tensor {} is not recording any more", shape());
  tape->nodes_[static_cast<size_t>(get().node)].hooks.push_back(std::move(hook));
}

void Tensor::set_grad(Tensor grad) const {
  if (grad.defined()) {
    require(grad.shape() == shape(), "set_grad", "gradient has shape {} but the tensor has {}",
            grad.shape(), shape());
    require_same_dtype("set_grad", grad, *this);
    require_same_device("set_grad", grad, *this);
    grad = as_leaf_gradient(std::move(grad));
  }
  get().grad = grad.impl();
}

void Tensor::backward() const {
  require(innermost_tape != nullptr, "backward",
          "no tape is in scope; declare a Tape before the forward pass");
  innermost_tape->backward(*this);
}

}  // namespace tapir
