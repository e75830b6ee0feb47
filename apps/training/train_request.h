// What the user asked `tapir train` for.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "apps/cli/flags.h"
#include "apps/config/run_config.h"

namespace tapir::app {

struct TrainRequest {
  RunConfig config;
  std::string out;
  std::string preset;
  std::string size;
  std::string config_file;
  std::optional<std::string> resume;  // "" means the folder of --out
  bool overwrite = false;
  bool dry_run = false;
  bool plot = false;
  std::string profile;  // where to write a trace
};

// The flags that are no part of a run's configuration; --resume is not among them, because its
// value may be left out.
std::vector<Setting> request_settings(TrainRequest& request);

// Fills in the configuration of a new run: the defaults, then the preset, the size, the config
// file and the flags, the later ones overriding the earlier.
void resolve_new_run(TrainRequest& request, const Flags& flags);

// Fills in the configuration of a run that continues: that of its checkpoint, then the flags. One
// that would change the model or its tokens is an Error.
void resolve_resumed_run(TrainRequest& request, const Flags& flags,
                         const RunConfig& checkpoint_config);

// The folder of the run; for a new one without --out, a free name under runs/.
std::filesystem::path run_path(const TrainRequest& request);

}  // namespace tapir::app
