// The machine that the program runs on.
#pragma once

#include <cstdint>

namespace tapir::app {

// Bytes of memory that this process may use: the machine's, or less where a container limits it.
int64_t memory_limit();
// Of those, the bytes that are free now or can be freed.
int64_t memory_available();

}  // namespace tapir::app
