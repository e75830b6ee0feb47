// Runs a forward and backward pass and watches it.
#pragma once

#include "apps/inspect/inspection.h"
#include "apps/inspect/subject.h"

namespace tapir::app {

struct PassOptions {
  bool details = false;   // histograms and attention maps too, which cost time
  bool composed = false;  // with fused operations replaced by their composed versions
};

// The gradient that arrives at an output of several elements is random, from a fixed seed.
// Gradients of the subject's tensors are left as the pass made them.
Inspection inspect(const SubjectRequest& request, const PassOptions& options, Subject* subject);

}  // namespace tapir::app
