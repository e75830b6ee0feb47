// The subcommands of the program. Each adds itself to the command line.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "apps/cli/flags.h"

namespace tapir::app {

// What the chosen subcommand does once the command line is read; returns the exit status.
using Action = std::function<int()>;

// Gives a command, whose positional arguments are there already, a flag for each setting of
// `options` and the footer of its help. Once chosen it applies the flags and runs `run(options)`.
template <typename Options, typename Run>
void set_action(CLI::App& command, std::shared_ptr<Options> options, std::vector<Setting> settings,
                const std::string& footer, Run run, Action& chosen) {
  auto flags = std::make_shared<Flags>(command, std::move(settings));
  command.footer(footer);
  command.callback([options, flags, run, &chosen] {
    chosen = [options, flags, run] {
      flags->apply();
      return run(*options);
    };
  });
}

void add_train_command(CLI::App& program, Action& chosen);
void add_generate_command(CLI::App& program, Action& chosen);
void add_gradcheck_command(CLI::App& program, Action& chosen);
void add_bench_command(CLI::App& program, Action& chosen);
void add_info_command(CLI::App& program, Action& chosen);
void add_inspect_command(CLI::App& program, Action& chosen);
void add_selftest_command(CLI::App& program, Action& chosen);
void add_corpus_command(CLI::App& program, Action& chosen);
void add_eval_command(CLI::App& program, Action& chosen);
void add_import_command(CLI::App& program, Action& chosen);
void add_export_command(CLI::App& program, Action& chosen);
void add_plot_command(CLI::App& program, Action& chosen);
void add_report_command(CLI::App& program, Action& chosen);
void add_tokenizer_command(CLI::App& program, Action& chosen);

}  // namespace tapir::app
