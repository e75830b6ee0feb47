// The options of generation as settings.
#pragma once

#include <vector>

#include "apps/cli/setting.h"
#include "apps/generation/writer.h"

namespace tapir::app {

// Refer to `options`, which must outlive them. The number of samples is not among them.
std::vector<Setting> writer_settings(WriterOptions& options);

}  // namespace tapir::app
