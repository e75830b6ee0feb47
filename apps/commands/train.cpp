#include <memory>

#include "apps/cli/flags.h"
#include "apps/cli/output.h"
#include "apps/commands/command.h"
#include "apps/config/config_file.h"
#include "apps/config/presets.h"
#include "apps/machine.h"
#include "apps/plot/loss_chart.h"
#include "apps/signals.h"
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

void resolve(TrainRequest& request, const Flags& flags, const RunFolder& folder,
             std::filesystem::path& checkpoint) {
  if (!request.resume) return resolve_new_run(request, flags);
  std::vector<std::string> notes;
  checkpoint = folder.newest_intact_checkpoint(notes);
  print_notes(notes);
  resolve_resumed_run(request, flags, read_checkpoint_info(checkpoint).config);
}

void note_changed_data(const std::filesystem::path& checkpoint, const Dataset& data) {
  const int64_t before = read_checkpoint_info(checkpoint).train_tokens;
  if (before == data.train.size()) return;
  print_notes(
      {fmt::format("the training text has {} tokens now, {} when the run was saved; it goes on "
                   "with what is there now",
                   data.train.size(), before)});
}

int finish(StopReason reason, const TrainRequest& request, const RunFolder& folder) {
  if (reason == StopReason::interrupted) return StopSignals::exit_status();
  if (request.plot)
    write_output_if_read(chart_text(loss_chart({folder.path()}), terminal_width(), 20));
  return 0;
}

int train(TrainRequest& request, const Flags& flags) {
  flags.apply();
  RunFolder folder(run_path(request), request.resume      ? RunFolder::Mode::resume
                                      : request.overwrite ? RunFolder::Mode::overwrite
                                                          : RunFolder::Mode::create);
  std::filesystem::path checkpoint;
  resolve(request, flags, folder, checkpoint);
  const RunConfig& config = request.config;
  if (config.training.threads > 0) cpu::set_threads(static_cast<int>(config.training.threads));
  const Device device = choose_device(config.training.device);

  const Dataset data =
      load_dataset(config, checkpoint.empty() ? nullptr : load_checkpoint_tokenizer(checkpoint));
  print_notes(data.notes);
  require_memory(config, data.tokenizer->vocab_size(), data.memory_bytes(), memory_available());
  Trainer trainer(config, data, device);
  if (!checkpoint.empty()) {
    note_changed_data(checkpoint, data);
    trainer.restore(checkpoint);
    write_output_if_read(
        fmt::format("resuming {} from step {}\n", folder.path().string(), trainer.state().step));
  }
  const double seconds_per_step = trainer.time_one_step();
  write_output_if_read(summary({.config = config,
                                .data = data,
                                .device = describe_device(config.training, device),
                                .first_step = trainer.state().step,
                                .seconds_per_step = seconds_per_step}));
  warn_of_slow_blas();
  if (request.dry_run) return 0;

  folder.begin(config_text(settings(request.config)), trainer.state().step);
  const StopSignals signals;
  TrainingSession session(config, data, trainer, folder);
  return finish(session.run(), request, folder);
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
