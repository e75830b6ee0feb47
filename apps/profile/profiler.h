// Where the time goes: spans of layers, operations and kernels, for a table and for a trace that
// Chrome's about:tracing and ui.perfetto.dev show.
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "autograd/tape_observer.h"
#include "backends/observed_backend.h"
#include "backends/registry.h"

namespace tapir::app {

// Watches its thread and one device from construction to destruction.
class Profiler final : public TapeObserver {
 public:
  explicit Profiler(Device device);

  void operation_done(std::string_view op, const Tensor& output) override;
  void backward_begins(const Tape& tape, size_t node, std::string_view op,
                       const Tensor& grad) override;
  void backward_ended(const Tape& tape, size_t node) override;

  // Everything so far as a file in Chrome's trace event format. Long runs keep their first spans
  // only; the table counts all.
  std::string trace_json();
  // The operations and kernels that took longest.
  std::string table() const;

 private:
  using Time = std::chrono::steady_clock::time_point;
  enum class Track { layers = 1, operations, kernels };

  struct Span {
    Track track;
    std::string name, layer;
    Time begin, end;
    double flops = 0;
  };
  struct Total {
    int64_t calls = 0;
    double seconds = 0, flops = 0;
  };
  struct OpenLayer {
    std::string path;
    Time begin;
  };
  using Totals = std::map<std::string, Total>;

  void kernel_done(const KernelReport& report);
  void operation_span(std::string name, Time begin, Time end, bool nested);
  void enter_layer(const std::string& path, Time begin, Time end);
  void close_layers(size_t count);
  void add(Totals& totals, Span span);
  static std::string totals_text(std::string_view title, const Totals& totals, double seconds);

  Time start_;
  std::vector<Span> spans_;
  Totals operations_, kernels_;
  std::optional<Time> first_kernel_;   // since the last operation
  std::vector<Time> backward_begins_;  // of the nodes that are running
  std::vector<std::string> backward_ops_;
  std::vector<OpenLayer> open_layers_;  // from the outermost inwards
  bool in_backward_ = false;
  Time last_end_;
  std::unique_ptr<ObservedBackend> backend_;
  std::unique_ptr<BackendOverride> override_;
};

// The option --profile: profiles until finish(), which writes the trace and prints the table.
class Profiling {
 public:
  // An empty path does nothing.
  Profiling(std::string path, Device device);
  void finish();

 private:
  std::string path_;
  std::unique_ptr<Profiler> profiler_;
};

}  // namespace tapir::app
