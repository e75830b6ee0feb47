// An inspection as text for the terminal.
#pragma once

#include <string>

#include "apps/inspect/inspection.h"
#include "apps/inspect/subject.h"

namespace tapir::app {

// A line for each node; then totals, and what is kept for the backward pass and why.
std::string inspection_table(const Inspection& inspection);

// The fused and the composed pass side by side, layer by layer, and how far their gradients are
// apart. The subjects hold the gradients.
std::string comparison_table(const Inspection& fused, const Subject& fused_subject,
                             const Inspection& composed, const Subject& composed_subject);

}  // namespace tapir::app
