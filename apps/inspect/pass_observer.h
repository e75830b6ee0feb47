// Fills an Inspection while a pass runs.
#pragma once

#include <chrono>

#include "apps/inspect/inspection.h"
#include "apps/inspect/saved_tensors.h"
#include "autograd/tape_observer.h"
#include "backends/backend.h"

namespace tapir::app {

// Watches from its construction, so that it knows the tensors of a model that is built after it;
// takes notes of one tape.
class PassObserver final : public TapeObserver {
 public:
  PassObserver(Device device, bool details);

  void add_parameter(const std::string& name, const Tensor& parameter);
  // From now on notes go to `result`, about this tape.
  void begin(const Tape& tape, Inspection& result);
  void end() { tape_ = nullptr; }

  // A kernel has computed that much.
  void add_flops(double flops) { flops_ += flops; }

  void tensor_made(const std::shared_ptr<TensorImpl>& impl) override { finder_.tensor_made(impl); }
  void node_recorded(const Tape& tape, size_t node, std::span<const Tensor> inputs,
                     const Tensor& output, const Backward& backward) override;
  void backward_begins(const Tape& tape, size_t node, std::string_view op,
                       const Tensor& grad) override;
  void backward_ended(const Tape& tape, size_t node) override;

 private:
  using Clock = std::chrono::steady_clock;

  double seconds_since_mark() const;
  void note_memory(size_t node, bool backward);
  // What follows is the next step's: its time, operations and peak of memory.
  void mark();

  Allocator& allocator_;
  bool details_;
  CaptureFinder finder_;
  const Tape* tape_ = nullptr;
  Inspection* result_ = nullptr;
  Clock::time_point mark_;
  double flops_ = 0;
};

}  // namespace tapir::app
