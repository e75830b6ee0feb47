// Where the time of a step or a token goes.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>

#include "backends/observed_backend.h"
#include "backends/registry.h"

namespace tapir::app {

// Watches the CPU's kernels while it lives.
class KernelParts {
 public:
  struct Part {
    double calls = 0, seconds = 0, flops = 0;
  };
  using Note = std::function<std::string(std::string_view kernel, const Part& part)>;

  KernelParts();

  // Forgets what was before.
  void start();
  void stop();

  // One line for each kernel and one for what is left between them, in the mean of `count` steps or
  // tokens that were computed from start() to stop(). `note` of a kernel stands at its line's end.
  void print(std::string_view name, int64_t count, const Note& note) const;

 private:
  using Clock = std::chrono::steady_clock;

  std::map<std::string, Part, std::less<>> parts_;
  Clock::time_point begin_, end_;
  ObservedBackend observed_;
  BackendOverride override_;
};

}  // namespace tapir::app
