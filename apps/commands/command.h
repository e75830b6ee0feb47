// The subcommands of the program. Each adds itself to the command line.
#pragma once

#include <CLI/App.hpp>
#include <functional>

namespace tapir::app {

// What the chosen subcommand does once the command line is read; returns the exit status.
using Action = std::function<int()>;

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
