// Work that the device is told of as one unit: a CUDA graph.
#pragma once

namespace tapir::cuda {

// An Error if the stream is being captured, when `what` cannot be done.
void require_no_capture(const char* what);

}  // namespace tapir::cuda
