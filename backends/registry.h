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

}  // namespace tapir
