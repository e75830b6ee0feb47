#include "apps/cli/output.h"
#include "apps/commands/command.h"
#include "backends/registry.h"

namespace tapir::app {

void add_info_command(CLI::App& program, Action& chosen) {
  CLI::App* command =
      program.add_subcommand("info", "Show version, processor, libraries and memory");
  command->callback([&chosen] {
    chosen = [] {
      print_output("tapir {}\n{}\n", TAPIR_VERSION, backend(kCpu).description());
      return 0;
    };
  });
}

}  // namespace tapir::app
