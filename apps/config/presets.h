// Sizes of models and runs that suit a machine.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "apps/cli/setting.h"
#include "apps/config/run_config.h"

namespace tapir::app {

struct Preset {
  std::string name;
  std::string about;                                        // the machine, the time it takes
  std::vector<std::pair<std::string, std::string>> values;  // setting and value
};

const std::vector<Preset>& presets();

bool is_preset(std::string_view name);

// Sets the preset's values; an unknown name is an Error that lists the known ones.
void apply_preset(std::string_view name, std::span<const Setting> settings);

// Chooses layers, heads and width so that the model has about `parameters` parameters with that
// vocabulary. Fewer than the smallest model has are an Error.
void apply_size(int64_t parameters, int64_t vocab_size, ModelConfig& model);

}  // namespace tapir::app
