#include "backends/registry.h"

#include <array>
#include <atomic>

#include "backends/cpu/instances.h"
#include "backends/plugin.h"

namespace tapir {
namespace {

std::atomic<const Backend*>& stand_in_for(Device device) {
  static constinit std::array<std::atomic<const Backend*>, 2> stand_ins{};
  return stand_ins[static_cast<size_t>(device.kind)];
}

const Backend& choose_cpu() {
  const Backend* chosen = cpu::backend_for(cpu::chosen_isa());
  return chosen != nullptr ? *chosen : *cpu::backend_for(cpu::Isa::avx2);
}

struct CudaChoice {
  const Backend* backend;
  std::string reason;  // why there is none
};

const CudaChoice& cuda() {
  static const CudaChoice chosen = [] {
    CudaChoice choice;
    choice.backend = open_cuda_plugin(&choice.reason);
    return choice;
  }();
  return chosen;
}

}  // namespace

BackendOverride::BackendOverride(Device device, const Backend& stand_in)
    : device_(device), before_(stand_in_for(device).exchange(&stand_in)) {}
BackendOverride::~BackendOverride() {
  stand_in_for(device_) = before_;
}

const Backend& backend(Device device) {
  if (const Backend* other = stand_in_for(device).load(std::memory_order_relaxed)) return *other;
  if (device == kCpu) {
    static const Backend& chosen = choose_cpu();
    return chosen;
  }
  if (cuda().backend == nullptr)
    fail("device", "{} cannot be used: {}; use cpu", device, cuda().reason);
  return *cuda().backend;
}

bool is_available(Device device, std::string* reason) {
  if (device == kCpu) return true;
  if (reason != nullptr) *reason = cuda().reason;
  return cuda().backend != nullptr;
}

Device choose_device(std::string_view name) {
  if (name == "auto") return is_available(kCuda) ? kCuda : kCpu;
  const Device device = parse_device(name);
  backend(device);
  return device;
}

}  // namespace tapir
