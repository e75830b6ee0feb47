// The CPU backend is compiled once for each instruction set.
#pragma once

#include "backends/backend.h"
#include "backends/cpu/cpu_features.h"

namespace tapir::avx2 {
const Backend& cpu_backend();
}

namespace tapir::avx512 {
const Backend& cpu_backend();
}

namespace tapir::cpu {

// The backend compiled for `isa`, or null where this build does not have it (builds for checks
// have the baseline only). It may be used only if the processor has these instructions.
const Backend* backend_for(Isa isa);

}  // namespace tapir::cpu
