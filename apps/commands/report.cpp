#include <memory>

#include "apps/cli/output.h"
#include "apps/commands/command.h"
#include "apps/files.h"
#include "apps/report/run_report.h"
#include "apps/tokenizer/file_io.h"

namespace tapir::app {
namespace {

constexpr const char* kReportExamples = R"(Examples:
  tapir report runs/book
  tapir report runs/small runs/large --out both.html)";

struct ReportCommand {
  std::vector<std::string> runs;
  std::string out;
};

std::vector<Setting> settings(ReportCommand& c) {
  return {{"report", "out", &c.out,
           "The page to write; by default report.html, of a single run in its folder"}};
}

int report(const ReportCommand& command) {
  std::filesystem::path out = command.out;
  if (out.empty()) {
    out = command.runs.size() == 1 ? std::filesystem::path(command.runs[0]) / "report.html"
                                   : std::filesystem::path("report.html");
  }
  require_replaceable(out, "<!DOCTYPE html>");
  write_file(out, run_report({command.runs.begin(), command.runs.end()}));
  print_message("wrote {}\n", out.string());
  return 0;
}

}  // namespace

void add_report_command(CLI::App& program, Action& chosen) {
  auto options = std::make_shared<ReportCommand>();
  CLI::App* command = program.add_subcommand(
      "report", "Write a page about runs: curves over each other, settings, samples");
  command->add_option("runs", options->runs, "Folders of runs")->required();
  set_action(*command, options, settings(*options), kReportExamples, report, chosen);
}

}  // namespace tapir::app
