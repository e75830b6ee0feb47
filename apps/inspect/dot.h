// An inspection as a graph for Graphviz.
#pragma once

#include <string>

#include "apps/inspect/inspection.h"

namespace tapir::app {

// A cluster for each layer, inside that of its parent; parameters as boxes. Draw it with
// `dot -Tsvg FILE`.
std::string inspection_dot(const Inspection& inspection, const std::string& title);

}  // namespace tapir::app
