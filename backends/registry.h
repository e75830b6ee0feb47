// The only place that knows which devices exist.
#pragma once

#include "backends/backend.h"

namespace tapir {

// The backend of a device. Asking for one that cannot work is an Error that says why.
const Backend& backend(Device device);

// Whether `device` can be used; when not, `reason` (if given) says why.
bool is_available(Device device, std::string* reason = nullptr);

// "auto" means CUDA where it works, else the CPU; "cpu" and "cuda" must be available.
Device choose_device(std::string_view name);

// While alive, backend(device) answers with `stand_in`: for watching the real one
// (observed_backend.h). Set it up while no other thread computes.
class BackendOverride {
 public:
  BackendOverride(Device device, const Backend& stand_in);
  ~BackendOverride();
  BackendOverride(const BackendOverride&) = delete;
  BackendOverride& operator=(const BackendOverride&) = delete;

 private:
  Device device_;
  const Backend* before_;
};

}  // namespace tapir
