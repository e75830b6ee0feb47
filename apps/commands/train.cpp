#include <memory>

#include "apps/cli/flags.h"
#include "apps/cli/output.h"
#include "apps/commands/command.h"
#include "apps/config/config_file.h"
#include "apps/config/presets.h"
#include "apps/machine.h"
#include "apps/plot/loss_chart.h"
#include "apps/profile/profiler.h"
#include "apps/signals.h"
#include "apps/tokenizer/file_io.h"
#include "apps/training/summary.h"
#include "apps/training/train_request.h"
#include "apps/training/training_session.h"
#include "backends/cpu/blas.h"
#include "backends/cpu/threads.h"
#include "backends/registry.h"

namespace tapir::app {
namespace {

std::string footer() {
  std::string text = "Presets:\n";
  for (const Preset& preset : presets()) {
    text += fmt::format("  {:<12} {}\n", preset.name, preset.about);
  }
  text += R"(
Examples:
  tapir train --data book.txt --out runs/book
  tapir train --data texts/ more.txt --out runs/mine --preset cpu-small --steps 5000
  tapir train --data book.txt --out runs/big --size 2M --context 256 --dropout 0.1
  tapir train --resume runs/book --steps 4000

Ctrl-C finishes the step, saves it and says how to continue; a second one stops at once.)";
  return text;
}

// What was chosen, with a line more when "auto" did not find what it looked for.
std::string describe_device(const TrainingConfig& training, Device device) {
  const int threads = cpu::threads();
  std::string text = device == kCpu
                         ? fmt::format("{}, {} thread{}", device, threads, threads == 1 ? "" : "s")
                         : backend(device).description();
  std::string reason;
  if (training.device == "auto" && !is_available(kCuda, &reason)) {
    text += fmt::format("\n{:<9} (no CUDA: {})", "", reason);
  }
  return text;
}

void warn_of_slow_blas() {
  const cpu::BlasInfo* blas = cpu::loaded_blas();
  if (blas != nullptr && blas->warning) print_message("tapir: warning: {}\n", *blas->warning);
}

// Of a run that is only tried, no folder is made.
std::unique_ptr<RunFolder> open_folder(const TrainRequest& request) {
  const std::filesystem::path path = run_path(request);
  if (request.dry_run && !request.resume && !std::filesystem::exists(path)) return nullptr;
  return std::make_unique<RunFolder>(path, request.resume      ? RunFolder::Mode::resume
                                           : request.overwrite ? RunFolder::Mode::overwrite
                                                               : RunFolder::Mode::create);
}

void note_changed_config(const RunFolder& folder, RunConfig saved) {
  std::error_code ignored;
  if (!std::filesystem::exists(folder.config_file(), ignored)) return;
  if (read_file(folder.config_file()) == config_text(settings(saved))) return;
  print_notes(
      {fmt::format("{} differs from the settings of the checkpoint, which the run goes on with; "
                   "change settings with flags",
                   folder.config_file().string())});
}

// `passed_over` gets a note for each checkpoint that is newer than the chosen one but damaged.
void resolve(TrainRequest& request, const Flags& flags, const RunFolder* folder,
             std::filesystem::path& checkpoint, std::vector<std::string>& passed_over) {
  if (!request.resume) return resolve_new_run(request, flags);
  checkpoint = folder->newest_intact_checkpoint(passed_over);
  print_notes(passed_over);
  const RunConfig saved = read_checkpoint_info(checkpoint).config;
  note_changed_config(*folder, saved);
  resolve_resumed_run(request, flags, saved);
}

void note_changed_data(const CheckpointInfo& saved, const Dataset& data) {
  if (saved.train_tokens == 0 || saved.train_data == data.train.fingerprint()) return;
  const std::string change = saved.train_tokens == data.train.size()
                                 ? std::string("has changed since the run was saved")
                                 : fmt::format("has {} tokens now, {} when the run was saved",
                                               data.train.size(), saved.train_tokens);
  print_notes({fmt::format("the training text {}; it goes on with what is there now", change)});
}

void note_changed_precision(Precision before, Precision now) {
  if (parameter_dtype(before) == parameter_dtype(now)) return;
  print_notes(
      {fmt::format("the run goes on in {}, from the same weights and optimizer state as in "
                   "{}; from here on its losses differ by rounding",
                   name_of(now), name_of(before))});
}

// Says which checkpoint was chosen, and why.
void report_resumed(const std::filesystem::path& checkpoint, const Trainer& trainer,
                    bool newer_are_damaged) {
  const int64_t windows = trainer.state().data.windows;
  const WindowSampler& sampler = trainer.sampler();
  write_output_if_possible(fmt::format(
      "resuming from step {}: {} is {}, every file as it was written\n"
      "epoch {}, {} of its {} windows done\n",
      trainer.state().step, checkpoint.string(),
      newer_are_damaged ? "the newest checkpoint that is intact" : "the newest checkpoint",
      sampler.epoch_of(windows) + 1, windows % sampler.windows_per_epoch(),
      sampler.windows_per_epoch()));
}

int finish(StopReason reason, const TrainRequest& request, const RunFolder& folder) {
  if (reason == StopReason::interrupted) return StopSignals::exit_status();
  if (request.plot)
    write_output_if_possible(chart_text(loss_chart({folder.path()}), terminal_width(), 20));
  return 0;
}

int train(TrainRequest& request, const Flags& flags) {
  flags.apply();
  const std::unique_ptr<RunFolder> folder = open_folder(request);
  std::filesystem::path checkpoint;
  std::vector<std::string> passed_over;
  resolve(request, flags, folder.get(), checkpoint, passed_over);
  const RunConfig& config = request.config;
  if (config.training.threads > 0) cpu::set_threads(static_cast<int>(config.training.threads));
  const Device device = choose_device(config.training.device);
  if (const auto note = use_matmul_precision(config.training.matmul_precision, device))
    print_notes({*note});
  const PrecisionChoice precision = choose_precision(config.training.precision, device);
  request.config.training.precision = precision.precision;

  const Dataset data =
      load_dataset(config, checkpoint.empty() ? nullptr : load_checkpoint_tokenizer(checkpoint));
  print_notes(data.notes);
  const int64_t vocab_size = data.tokenizer->vocab_size();
  require_memory(config, vocab_size, data.memory_bytes(), device);
  Trainer trainer(config, data, device);
  std::vector<int32_t> end_tokens;
  if (!checkpoint.empty()) {
    const CheckpointInfo saved = read_checkpoint_info(checkpoint);
    note_changed_data(saved, data);
    note_changed_precision(saved.config.training.precision, config.training.precision);
    end_tokens = saved.end_tokens;
    trainer.restore(checkpoint);
    report_resumed(checkpoint, trainer, !passed_over.empty());
  }
  if (trainer.state().step >= config.training.steps) {
    print_notes(
        {fmt::format("step {} of {} is done, so there is nothing to train; give more --steps",
                     trainer.state().step, config.training.steps)});
  }
  const double seconds_per_step = trainer.time_one_step();
  write_output_if_possible(
      summary({.config = config,
               .data = data,
               .memory = forecast_memory(config, vocab_size, data.memory_bytes(), device),
               .device = describe_device(config.training, device),
               .precision = precision.about,
               .first_step = trainer.state().step,
               .seconds_per_step = seconds_per_step}));
  warn_of_slow_blas();
  if (request.dry_run) return 0;

  Profiling profiling(request.profile, device);  // a path that cannot be written spares the old run
  folder->begin(config_text(settings(request.config)), trainer.state());
  const StopSignals signals;
  TrainingSession session(config, data, trainer, *folder, std::move(end_tokens));
  const StopReason reason = session.run();
  profiling.finish();
  return finish(reason, request, *folder);
}

}  // namespace

void add_train_command(CLI::App& program, Action& chosen) {
  auto request = std::make_shared<TrainRequest>();
  CLI::App* command = program.add_subcommand("train", "Train a model on text");
  std::vector<Setting> list = request_settings(*request);
  for (Setting& setting : settings(request->config)) list.push_back(std::move(setting));
  auto flags = std::make_shared<Flags>(*command, std::move(list));
  command
      ->add_option_function<std::vector<std::string>>(
          "--resume", [request](const auto& value) { request->resume = value.at(0); },
          "Continue the run in this folder, or in the one of --out")
      ->expected(0, 1)
      ->type_name("TEXT")
      ->group("run");
  command->footer(footer());
  command->callback(
      [request, flags, &chosen] { chosen = [request, flags] { return train(*request, *flags); }; });
}

}  // namespace tapir::app
