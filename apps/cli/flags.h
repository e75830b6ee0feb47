// Settings as command-line flags.
#pragma once

#include <CLI/App.hpp>
#include <map>
#include <string>
#include <vector>

#include "apps/cli/setting.h"

namespace tapir::app {

// Adds --name for every setting, with its help, default and group. Parsing only keeps the texts;
// apply() sets the settings, so that a config file can be read in between. Positional arguments of
// the command are added before.
class Flags {
 public:
  Flags(CLI::App& command, std::vector<Setting> settings);

  // Sets every setting that was on the command line.
  void apply() const;
  bool given(const std::string& name) const { return given_.count(name) > 0; }
  const std::vector<Setting>& settings() const { return settings_; }

 private:
  void add(CLI::App& command, const Setting& setting);

  std::vector<Setting> settings_;
  std::map<std::string, std::vector<std::string>> given_;
};

}  // namespace tapir::app
