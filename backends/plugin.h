// A backend that lives in a library of its own and is opened only when somebody asks for it:
// linking to cuBLAS alone would cost every start of the program more than a small training step.
#pragma once

#include <string>

#include "backends/backend.h"
#include "backends/matmul_precision.h"

namespace tapir {

// Changes whenever Backend, View or anything else that both sides use does, so that a library of
// another build is refused instead of misunderstood.
inline constexpr int kPluginVersion = 2;

// Every backend library exports this function as kPluginEntry. Returns the backend, which lives
// until the process ends, or null with the reason. `precision` is that of the process's products.
using OpenBackend = const Backend* (*)(int version, std::string* reason,
                                       const std::atomic<MatmulPrecision>* precision);
inline constexpr const char* kPluginEntry = "tapir_open_backend";

// Opens the library `file` after making sure that the device's own `driver` library is there (not
// if null); null with the reason when that fails.
const Backend* open_plugin(const std::string& file, const char* driver, std::string* reason);

// The CUDA backend. Its library stands beside the program or in the package's library folder; the
// environment variable TAPIR_CUDA_PLUGIN names another file, which is then opened without a look
// at the driver.
const Backend* open_cuda_plugin(std::string* reason);

}  // namespace tapir
