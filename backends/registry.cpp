#include "backends/registry.h"

#include "backends/cpu/cpu_features.h"
#include "backends/cpu/instances.h"

namespace tapir {
namespace {

const Backend& choose_cpu() {
  [[maybe_unused]] const cpu::Isa isa = cpu::chosen_isa();
#ifdef TAPIR_WITH_AVX512  // builds for checks have the baseline kernels only
  if (isa == cpu::Isa::avx512) return avx512::cpu_backend();
#endif
  return avx2::cpu_backend();
}

}  // namespace

const Backend& backend(Device device) {
  if (device == kCpu) {
    static const Backend& chosen = choose_cpu();
    return chosen;
  }
  std::string reason;
  is_available(device, &reason);
  fail("device", "{} cannot be used: {}; use cpu", device, reason);
}

bool is_available(Device device, std::string* reason) {
  if (device == kCpu) return true;
  if (reason != nullptr) *reason = "this build has no backend for it";
  return false;
}

Device choose_device(std::string_view name) {
  if (name == "auto") return is_available(kCuda) ? kCuda : kCpu;
  const Device device = parse_device(name);
  backend(device);
  return device;
}

}  // namespace tapir
