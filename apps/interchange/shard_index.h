// model.safetensors.index.json: which file of a folder holds which tensor.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tapir::app {

// Of the index's text, the name of each tensor with that of its file. `file` names the index in
// messages. A file's name that could lead out of the folder is an Error.
std::vector<std::pair<std::string, std::string>> parse_shard_index(std::string_view json,
                                                                   const std::string& file);

}  // namespace tapir::app
