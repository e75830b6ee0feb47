#include <memory>

#include "apps/cli/output.h"
#include "apps/commands/command.h"
#include "apps/files.h"
#include "apps/plot/loss_chart.h"
#include "apps/tokenizer/file_io.h"

namespace tapir::app {
namespace {

constexpr const char* kPlotExamples = R"(Examples:
  tapir plot runs/book
  tapir plot runs/small runs/large --svg both.svg)";

struct PlotCommand {
  std::vector<std::string> runs;
  std::string svg;
  int64_t width = 0;
  int64_t height = 20;
};

std::vector<Setting> settings(PlotCommand& c) {
  const std::string group = "drawing";
  return {
      {group, "svg", &c.svg, "Write a picture to this file instead of drawing in the terminal"},
      {group, "width", &c.width, "Columns; 0: those of the terminal", 0, 1000},
      {group, "height", &c.height, "Lines", 8, 1000},
  };
}

int plot(const PlotCommand& command) {
  const Chart chart = loss_chart({command.runs.begin(), command.runs.end()});
  if (!command.svg.empty()) {
    require_replaceable(command.svg, "<svg");
    write_file(command.svg, chart_svg(chart));
    print_message("wrote {}\n", command.svg);
    return 0;
  }
  const int width = command.width > 0 ? static_cast<int>(command.width) : terminal_width();
  write_output(chart_text(chart, width, static_cast<int>(command.height)));
  return 0;
}

}  // namespace

void add_plot_command(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<PlotCommand>();
  CLI::App* command = program.add_subcommand("plot", "Draw the loss curves of runs");
  command->add_option("runs", options->runs, "Folders of runs")->required();
  set_action(*command, options, settings(*options), kPlotExamples, plot, chosen);
}

}  // namespace tapir::app
