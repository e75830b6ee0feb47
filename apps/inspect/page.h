// An inspection as one HTML page that needs nothing else.
#pragma once

#include <string>

#include "apps/inspect/inspection.h"
#include "apps/inspect/subject.h"

namespace tapir::app {

// `composed`, if given, is shown beside it.
std::string inspection_page(const Subject& subject, const Inspection& inspection,
                            const Inspection* composed);

}  // namespace tapir::app
