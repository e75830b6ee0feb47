#include "apps/program.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <csignal>
#include <exception>
#include <filesystem>
#include <new>

#include <malloc.h>

#include "apps/cli/output.h"
#include "apps/cli/suggest.h"
#include "apps/commands/command.h"
#include "backends/error.h"

namespace tapir::app {
namespace {

constexpr int kFailure = 1, kUsage = 2;

constexpr const char* kExamples = R"(Examples:
  tapir train --data book.txt --out runs/book
  tapir generate runs/book --prompt "Once upon a time"
  tapir train --help)";

void add_commands(CLI::App& program, Action& chosen) {
  program.description("Trains small language models on text and writes with them.");
  program.footer(kExamples);
  program.set_version_flag("--version", "tapir " TAPIR_VERSION);
  program.set_help_flag("-h,--help", "Show this help");
  program.require_subcommand(1);
  add_train_command(program, chosen);
  add_generate_command(program, chosen);
  add_eval_command(program, chosen);
  add_import_command(program, chosen);
  add_export_command(program, chosen);
  add_plot_command(program, chosen);
  add_report_command(program, chosen);
  add_corpus_command(program, chosen);
  add_gradcheck_command(program, chosen);
  add_bench_command(program, chosen);
  add_inspect_command(program, chosen);
  add_info_command(program, chosen);
  add_selftest_command(program, chosen);
  add_tokenizer_command(program, chosen);
}

// Every flag of a command, and the names of its subcommands, as a user types them.
std::vector<std::string> legal_words(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
  }
  for (const CLI::App* sub : command.get_subcommands([](const CLI::App*) { return true; })) {
    words.push_back(sub->get_name());
  }
  return words;
}

std::string explain(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App* command = &program;
  std::string path = "tapir";
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    path += " " + command->get_name();
  }
  std::string problem = error.what();
  const std::vector<std::string> extras = command->remaining();
  if (!extras.empty()) {
    const std::string word = extras.front().substr(0, extras.front().find('='));
    const bool flag = word.starts_with('-');
    const bool subcommand = !flag && command == &program;
    problem = fmt::format("{} '{}'{}",
                          flag         ? "there is no flag"
                          : subcommand ? "there is no subcommand"
                                       : "unexpected argument",
                          word, did_you_mean(word, legal_words(*command)));
  }
  return fmt::format("{}: {}\nRun `{} --help` for what there is.\n", path, problem, path);
}

int run(int argc, char** argv) {
  CLI::App program("", "tapir");
  Action chosen;
  add_commands(program, chosen);
  try {
    program.parse(argc, argv);
  } catch (const CLI::Success& help) {  // --help and --version
    std::ostringstream text;
    program.exit(help, text, text);
    write_output(text.str());
    return 0;
  } catch (const CLI::ParseError& error) {
    if (argc == 1) {
      write_message(program.help());
    } else {
      write_message(explain(program, error));
    }
    return kUsage;
  }
  return chosen();
}

}  // namespace

int run_program(int argc, char** argv) {
  // The memory of one token's logits is there for the next, instead of going back to the system,
  // which would have to clear it each time.
  mallopt(M_MMAP_THRESHOLD, 16 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  reserve_standard_descriptors();
  // A reader that goes away, and a limit on the size of files, are noticed when writing.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return run(argc, argv);
  } catch (const OutputClosed&) {
    return 0;
  } catch (const std::bad_alloc&) {
    write_message("tapir: out of memory; use a smaller model, batch or context\n");
  } catch (const std::filesystem::filesystem_error& error) {
    print_message("tapir: cannot open {}: {}\n", error.path1().string(), error.code().message());
  } catch (const std::exception& error) {
    print_message("tapir: {}\n", error.what());
  }
  return kFailure;
}

}  // namespace tapir::app
