// The CPU backend exists twice, compiled for two instruction sets. Only the one that
// cpu::chosen_isa() names may be used.
#pragma once

#include "backends/backend.h"

namespace tapir::avx2 {
const Backend& cpu_backend();
}

namespace tapir::avx512 {
const Backend& cpu_backend();
}
