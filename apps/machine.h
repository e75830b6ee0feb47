// The machine that the program runs on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/device.h"
#include "backends/matmul_precision.h"

namespace tapir::app {

// Bytes of memory that this process may use: the machine's, or less where a container limits it.
int64_t memory_limit();
// Of those, the bytes that are free now or can be freed.
int64_t memory_available();

// Sets the precision of products; where less than the highest makes no difference, a note says why.
std::optional<std::string> use_matmul_precision(MatmulPrecision precision, Device device);

}  // namespace tapir::app
