// The parts of the web pages, which the build puts into the program (embed.cmake).
#pragma once

#include <string_view>

namespace tapir::app {

// The text of "inspect/page/graph.js" and the like, named from apps/.
std::string_view web_file(std::string_view name);

}  // namespace tapir::app
