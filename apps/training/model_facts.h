// What `tapir info` says of a model.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "apps/training/checkpoint.h"

namespace tapir::app {

// Names and values, for people: checkpoint, step, parameters, precision, architecture, tokenizer,
// data, best validation, format.
std::vector<std::pair<std::string, std::string>> model_facts(const LoadedModel& model);

}  // namespace tapir::app
