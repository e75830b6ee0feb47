#include "apps/training/train_request.h"

#include "apps/cli/quantity.h"
#include "apps/config/config_file.h"
#include "apps/config/presets.h"

namespace tapir::app {
namespace {

constexpr std::string_view kOp = "train";

// How many tokens a tokenizer will have, as far as its name tells.
int64_t expected_vocabulary(const std::string& tokenizer) {
  constexpr int64_t kByte = 257, kChar = 320, kOther = 32000;
  if (tokenizer == "byte") return kByte;
  if (tokenizer == "char") return kChar;
  if (tokenizer.starts_with("bpe:")) return parse_count(tokenizer.substr(4), "--tokenizer");
  return kOther;
}

// The settings that decide what the weights mean.
bool fixed_by_weights(const Setting& setting) {
  return setting.name == "tokenizer" || (setting.group == "model" && setting.name != "dropout");
}

// What --size chooses.
constexpr const char* kShape[] = {"layers", "heads", "kv-heads", "d-model", "d-ff"};

std::vector<std::string> shape_of(std::span<const Setting> all) {
  std::vector<std::string> values;
  for (const char* name : kShape) values.push_back(values_of(*find_setting(all, name))[0]);
  return values;
}

void require_consistent(const RunConfig& config) {
  config.validate();
  require(config.training.patience == 0 || config.training.eval_every > 0, kOp,
          "--patience {} counts validations, and --eval-every 0 means none",
          config.training.patience);
}

}  // namespace

std::vector<Setting> request_settings(TrainRequest& r) {
  const std::string group = "run";
  return {
      {group, "out", &r.out, "Folder for the run; by default a new one under runs/"},
      {group, "preset", &r.preset, "Sizes for a machine; see below"},
      {group, "size", &r.size, "Choose layers, heads and width for this many parameters (10M)"},
      {group, "config", &r.config_file, "Take settings from this file, as a run's config.toml"},
      {group, "overwrite", &r.overwrite, "Replace the run that the folder holds"},
      {group, "dry-run", &r.dry_run, "Only show what would be done"},
      {group, "plot", &r.plot, "Draw the loss curve at the end"},
      {group, "profile", &r.profile,
       "Write a trace of where the time goes to this file, for ui.perfetto.dev"},
  };
}

void resolve_new_run(TrainRequest& request, const Flags& flags) {
  const std::vector<Setting> all = settings(request.config);
  const auto apply_given = [&] {
    if (!request.config_file.empty()) read_config_file(request.config_file, all);
    flags.apply();
  };
  const auto apply_named_preset = [&] {
    if (!request.preset.empty()) apply_preset(request.preset, all);
  };
  // What --size chooses depends on the tokenizer, and everything given goes before it.
  flags.apply();
  apply_named_preset();
  apply_given();
  const std::string tokenizer = request.config.data.tokenizer;
  request.config = RunConfig();
  apply_named_preset();
  if (!request.size.empty()) {
    apply_size(parse_count(request.size, "--size"), expected_vocabulary(tokenizer),
               request.config.model);
  }
  const std::vector<std::string> chosen = shape_of(all);
  apply_given();
  const std::vector<std::string> given = shape_of(all);
  for (size_t i = 0; i < given.size() && !request.size.empty(); ++i) {
    require(given[i] == chosen[i], kOp,
            "--size {0} chooses --{1} {2}, but --{1} {3} was given; leave out one of them",
            request.size, kShape[i], chosen[i], given[i]);
  }
  require_consistent(request.config);
}

void resolve_resumed_run(TrainRequest& request, const Flags& flags,
                         const RunConfig& checkpoint_config) {
  for (const char* flag : {"preset", "size", "config", "overwrite"}) {
    require(!flags.given(flag), kOp, "--{} does not go with --resume; a resumed run keeps its own",
            flag);
  }
  const std::vector<Setting> all = settings(request.config);
  request.config = checkpoint_config;
  std::vector<std::vector<std::string>> before;
  for (const Setting& setting : all) before.push_back(values_of(setting));
  flags.apply();
  for (size_t i = 0; i < all.size(); ++i) {
    if (!fixed_by_weights(all[i])) continue;
    require(values_of(all[i]) == before[i], kOp,
            "--{} cannot change in a resumed run: its checkpoint has {}", all[i].name,
            fmt::join(before[i], " "));
  }
  require_consistent(request.config);
}

std::filesystem::path run_path(const TrainRequest& request) {
  if (request.resume && !request.resume->empty()) {
    require(request.out.empty() || request.out == *request.resume, kOp,
            "--resume {} continues in its own folder; leave out --out {}", *request.resume,
            request.out);
    return *request.resume;
  }
  require(!request.resume || !request.out.empty(), kOp, "say which run with --resume FOLDER");
  if (!request.out.empty()) return request.out;
  for (int64_t number = 1;; ++number) {
    const std::filesystem::path path = fmt::format("runs/run-{}", number);
    if (!std::filesystem::exists(path)) return path;
  }
}

}  // namespace tapir::app
