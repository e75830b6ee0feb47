#include "apps/inspect/pass_observer.h"

#include "apps/inspect/attention_map.h"
#include "apps/inspect/value_stats.h"
#include "autograd/tape.h"
#include "backends/registry.h"

namespace tapir::app {
namespace {

constexpr std::string_view kAttention = "scaled_dot_product_attention";

bool shares_storage(const Tensor& output, std::span<const Tensor> inputs) {
  for (const Tensor& input : inputs) {
    if (input.defined() && input.get().storage == output.get().storage) return true;
  }
  return false;
}

}  // namespace

PassObserver::PassObserver(Device device, bool details)
    : allocator_(backend(device).allocator()), details_(details) {}

void PassObserver::add_parameter(const std::string& name, const Tensor& parameter) {
  finder_.add_parameter(name, parameter);
}

void PassObserver::begin(const Tape& tape, Inspection& result) {
  tape_ = &tape;
  result_ = &result;
  finder_.begin_pass();
  result.bytes_before = allocator_.stats().bytes_in_use;
  mark();
}

void PassObserver::node_recorded(const Tape& tape, size_t node, std::span<const Tensor> inputs,
                                 const Tensor& output, const Backward& backward) {
  if (&tape != tape_) return;
  NodeRecord record;
  record.forward_seconds = seconds_since_mark();
  record.forward_flops = flops_;
  note_memory(node, false);
  const Paused pause;
  const Tape::NodeInfo info = tape.info(node);
  record.op = info.op;
  record.layer = info.layer;
  record.output_shape = output.shape();
  record.dtype = output.dtype();
  record.view = shares_storage(output, inputs);
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    const bool leaf = inputs[i].is_leaf();
    record.inputs.push_back({.node = leaf ? -1 : info.inputs[i],
                             .parameter = leaf ? finder_.parameter_name(inputs[i]) : "",
                             .shape = inputs[i].shape()});
  }
  record.saved = finder_.find(info.op, inputs, output, backward);
  if (details_ && !record.view) record.output = value_stats(output);
  if (details_ && info.op == kAttention) {
    result_->attention.push_back(attention_map(record.layer, inputs[0], inputs[1]));
  }
  result_->nodes.push_back(std::move(record));
  mark();
}

void PassObserver::backward_begins(const Tape& tape, size_t node, std::string_view,
                                   const Tensor& grad) {
  if (&tape != tape_) return;
  const Paused pause;
  NodeRecord& record = result_->nodes.at(node);
  record.had_gradient = true;
  record.gradient_norm = l2_norm(grad);
  if (details_ && !record.view) record.gradient = value_stats(grad);
  mark();
}

void PassObserver::backward_ended(const Tape& tape, size_t node) {
  if (&tape != tape_) return;
  NodeRecord& record = result_->nodes.at(node);
  record.backward_seconds = seconds_since_mark();
  record.backward_flops = flops_;
  note_memory(node, true);
}

double PassObserver::seconds_since_mark() const {
  return std::chrono::duration<double>(Clock::now() - mark_).count();
}

void PassObserver::note_memory(size_t node, bool backward) {
  const Allocator::Stats stats = allocator_.stats();
  result_->memory.push_back(
      {static_cast<int64_t>(node), backward, stats.bytes_in_use, stats.peak_bytes});
}

void PassObserver::mark() {
  allocator_.reset_peak();
  flops_ = 0;
  mark_ = Clock::now();
}

}  // namespace tapir::app
